// Encoder, part 2: profiles and samples.
#include "store/write/encode_rows.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "profile/limits.h"
#include "profile/observations.h"
#include "profile/type_id.h"
#include "store/engine/schema.h"

namespace wherefore::store {

using profile::Batch;
using profile::CountRule;
using profile::Id;

namespace {

constexpr std::int64_t kYear2000 = 946'684'800 * kNsPerSecond;
constexpr std::int64_t kMaxAhead = 3600 * kNsPerSecond;

bool IsZero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; });
}

// How many observations a sample stands for, by the type's rule.
std::int64_t CountOf(const Batch& batch, const profile::Profile& profile, CountRule rule,
                     std::size_t sample) {
  const std::int64_t value = batch.samples.value[sample];
  if (rule == CountRule::kValue) return value;
  if (rule == CountRule::kValuePerPeriod) return value / profile.period;
  return profile::Observations(batch, profile, sample);
}

}  // namespace

std::string TimeProblem(std::int64_t time_ns, std::int64_t now_ns, std::int64_t retention_ns) {
  if (time_ns < kYear2000)
    return fmt::format("its time {} is before the year 2000", FormatTime(time_ns));
  if (time_ns > now_ns + kMaxAhead) {
    return fmt::format("its time {} is more than 1 h in the future", FormatTime(time_ns));
  }
  if (retention_ns > 0 && time_ns < now_ns - retention_ns) {
    return fmt::format("its time {} is older than the retention of {}", FormatTime(time_ns),
                       FormatDuration(retention_ns));
  }
  return {};
}

Result<profile::WriteAnswer> Encoder::Encode(const profile::WriteRequest& request,
                                             ContentHashes& hashes, std::int64_t now_ns,
                                             std::uint64_t segment, RowSet& rows) {
  Refusals refusals;
  rows_ = &rows;
  rows_before_ = rows.ByteSize();
  unlabelled_.clear();
  refused_.clear();
  buckets_.clear();
  service_buckets_.clear();
  const char* what = "profile";
  if (const auto* batch = std::get_if<Batch>(&request.data)) {
    // Samples and profiles are rows, about as large as here.
    most_row_bytes_ = profile::MaxRowBytes(batch->SourceBytes()) + batch->ApproximateBytes();
    WHEREFORE_ASSIGN_OR_RETURN(const auto places,
                               PlaceProfiles(request, *batch, now_ns, segment, refusals));
    hashes_ = &hashes;
    frame_ids_of_ = nullptr;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t before = refusals.count;
      const bool placed = places[i].dictionary != nullptr;
      if (placed && hashes.Refused(i)) {
        refusals.Add([&] { return hashes.problem(); });
      } else if (placed && HasRoom(refusals)) {
        EncodeProfile(*batch, i, places[i], refusals);
      }
      if (!placed || refusals.count > before) refused_.insert(i);
    }
  } else {
    what = "span";
    const auto& spans = std::get<profile::SpanBatch>(request.data);
    most_row_bytes_ =
        profile::MaxRowBytes(2 * request.body_bytes);  // each has its resource beside it
    WHEREFORE_ASSIGN_OR_RETURN(const auto places,
                               PlaceSpans(request, spans, now_ns, segment, refusals));
    EncodeSpans(spans, places, refusals);
  }
  profile::WriteAnswer answer = request.decoded;
  answer.rejected += refusals.count;
  if (refusals.count > 0) {
    if (!answer.message.empty()) answer.message += "; ";
    answer.message += fmt::format("{} {}{} refused: {}", refusals.count, what,
                                  refusals.count == 1 ? "" : "s", refusals.first);
  }
  if (!unlabelled_.empty()) {
    if (!answer.message.empty()) answer.message += "; ";
    answer.message += unlabelled_;
    static LogLimiter limiter(60);
    if (limiter.Allow()) Log(LogLevel::kWarn, "series limit", {{"what", unlabelled_}});
  }
  return answer;
}

bool Encoder::TooLarge() const {
  return rows_->ByteSize() - rows_before_ > most_row_bytes_;
}

bool Encoder::HasRoom(Refusals& refusals) const {
  if (!TooLarge()) return true;
  refusals.Add([&] {
    return fmt::format("with it the request would take more than {} bytes in the store",
                       most_row_bytes_);
  });
  return false;
}

Result<Encoder::Place> Encoder::PlaceAt(std::uint32_t tenant, const Service& service, Kind kind,
                                        std::int64_t time_ns, std::int64_t now_ns,
                                        std::uint64_t segment, Refusals& refusals) {
  const std::int64_t kept_ns = options_.retention.Of(tenant).Of(kind);
  if (std::string problem = TimeProblem(time_ns, now_ns, kept_ns); !problem.empty()) {
    refusals.Add([&] { return std::move(problem); });
    return Place{};
  }
  const std::uint32_t bucket = BucketOf(time_ns, now_ns);
  if (kind == Kind::kSamples && options_.tiers != nullptr &&
      options_.tiers->SamplesGone(tenant, bucket)) {
    refusals.Add([&] {
      return fmt::format("the samples of its time {} were dropped, and sums by hour cannot take it",
                         FormatTime(time_ns));
    });
    return Place{};
  }
  // Each is a partition of the engine, and a dictionary that may have to be read back.
  const bool first_of_bucket = buckets_.insert(bucket).second;
  const bool first_of_both = service_buckets_.emplace(service.hash, bucket).second;
  if (first_of_bucket && buckets_.size() > profile::kMaxBuckets) {
    buckets_.erase(bucket);
    service_buckets_.erase({service.hash, bucket});
    refusals.Add([&] {
      return fmt::format("its time {} makes more than {} days or months in one request",
                         FormatTime(time_ns), profile::kMaxBuckets);
    });
    return Place{};
  }
  if (first_of_both && service_buckets_.size() > profile::kMaxServiceBuckets) {
    service_buckets_.erase({service.hash, bucket});
    refusals.Add([&] {
      return fmt::format("service {} makes more than {} services (times days) in one request",
                         service.name, profile::kMaxServiceBuckets);
    });
    return Place{};
  }
  WHEREFORE_ASSIGN_OR_RETURN(Dictionary * dictionary,
                             dictionaries_.Get(tenant, service.hash, bucket));
  dictionary->last_segment = segment;
  return Place{dictionary, time_ns};
}

Result<std::vector<Encoder::Place>> Encoder::PlaceProfiles(const profile::WriteRequest& request,
                                                           const Batch& batch, std::int64_t now_ns,
                                                           std::uint64_t segment,
                                                           Refusals& refusals) {
  const std::vector<Service> services = ServicesOf(batch);
  std::vector<Place> places;
  places.reserve(batch.profiles.size());
  for (const profile::Profile& profile : batch.profiles) {
    // Beyond int64 is the year 2262: refused as the future.
    const auto time =
        profile.time_ns == 0
            ? request.arrival_ns
            : static_cast<std::int64_t>(std::min<std::uint64_t>(profile.time_ns, INT64_MAX));
    WHEREFORE_ASSIGN_OR_RETURN(places.emplace_back(),
                               PlaceAt(request.tenant, services[profile.resource], Kind::kSamples,
                                       time, now_ns, segment, refusals));
  }
  return places;
}

void Encoder::EncodeProfile(const Batch& batch, std::size_t index, const Place& place,
                            Refusals& refusals) {
  const profile::Profile& profile = batch.profiles[index];
  Dictionary& dictionary = *place.dictionary;
  const profile::Resource& resource = batch.resources[profile.resource];
  const LabelSet& set = hashes_->labels().OfProfile(index);
  const std::uint32_t series = InternSeries(dictionary, 0, set, nullptr);
  if (series == 0) {
    refusals.Add([&] {
      return fmt::format(
          "service {} has reached the limit of {} series a bucket; the label with the most "
          "values is {}",
          ServiceName(batch, resource), FormatCount(options_.max_series_per_service),
          dictionary.WidestLabel());
    });
    return;
  }
  if (!dictionary.named_for_profiles) NameService(dictionary, ServiceName(batch, resource), false);
  const profile::ProfileType type = TypeOf(batch, profile);
  const std::uint64_t type_hash = type.Hash();
  InternType(dictionary, type_hash, type);

  std::int64_t total = 0;
  std::uint64_t count = 0;
  for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count; ++i) {
    total = SaturatingAdd(total, batch.samples.value[i]);
    count += static_cast<std::uint64_t>(CountOf(batch, profile, type.count_rule, i));
  }
  Begin(Table::kProfiles, dictionary)
      .Put(type_hash)
      .Put(series)
      .Put(place.time_ns)
      .Put(profile.duration_ns)
      .Put(dictionary.next_profile)
      .Bytes(profile.id)
      .Put(total)
      .Put(count)
      .Put(profile.sample_count)
      .Put(dictionary.key.writer)
      .Text(set.rest());
  if (options_.keep_payload && !profile.payload.empty()) {
    Begin(Table::kPayloads, dictionary)
        .Put(dictionary.key.writer)
        .Put(dictionary.next_profile)
        .Text(batch.Text(profile.payload_format))
        .Text(profile.payload);
  }
  EncodeSamples(batch, profile, place, type_hash, type.count_rule, series, set);
  ++dictionary.next_profile;
}

namespace {

// Columns of `samples`, in the table's order.
enum SampleColumn : std::size_t {
  kBucket,
  kTenant,
  kService,
  kType,
  kTime,
  kProfile,
  kSeries,
  kStack,
  kWriter,
  kValue,
  kCount
};

}  // namespace

Encoder::SampleLabels Encoder::LabelsOf(Dictionary& dictionary, const LabelSet& set,
                                        std::uint32_t profile_series,
                                        const LabelSet& profile_labels) {
  SampleLabels result{.series = profile_series, .rest = set.rest()};
  if (!set.encoded().empty()) {
    result.series = InternSeries(dictionary, profile_series, set, &profile_labels);
  }
  if (result.series == 0) {
    // Over the limit: the sample stays, its labels are kept beside it as attributes of this one
    // sample.
    result.rest += set.encoded();
    result.series = profile_series;
    if (unlabelled_.empty()) {
      unlabelled_ =
          "samples keep their values but not all of their labels: " +
          (TooLarge()
               ? fmt::format("they would take more than {} bytes in the store", most_row_bytes_)
               : fmt::format("{} series a bucket is the limit for labels of samples; the "
                             "label with the most values is {}",
                             FormatCount(options_.max_series_per_service / 2),
                             dictionary.WidestLabel()));
    }
  }
  return result;
}

void Encoder::EncodeSamples(const Batch& batch, const profile::Profile& profile, const Place& place,
                            std::uint64_t type, CountRule rule, std::uint32_t profile_series,
                            const LabelSet& profile_labels) {
  Dictionary& dictionary = *place.dictionary;
  Rows& samples = (*rows_)[Table::kSamples];
  std::unordered_map<std::uint32_t, SampleLabels> by_set;
  const SampleLabels plain{profile_series, {}};
  const std::size_t end = profile.first_sample + profile.sample_count;
  // The table of stacks is large and looked into at random: ask for its lines before they are
  // needed.
  for (std::size_t i = profile.first_sample; i < end; ++i) {
    dictionary.stacks.PrefetchSlot(hashes_->Stack(batch, batch.samples.stack[i]));
  }
  for (std::size_t i = profile.first_sample; i < end; ++i) {
    dictionary.stacks.PrefetchHash(hashes_->Stack(batch, batch.samples.stack[i]));
  }
  for (std::size_t i = profile.first_sample; i < end; ++i) {
    const SampleLabels* labels = &plain;
    if (const std::uint32_t set = hashes_->labels().OfSample(i); set != 0) {
      const auto [entry, added] = by_set.try_emplace(set);
      if (added) {
        entry->second =
            LabelsOf(dictionary, hashes_->labels()[set], profile_series, profile_labels);
      }
      labels = &entry->second;
    }
    SampleRecord record{.sample = i,
                        .type = type,
                        .series = labels->series,
                        .stack = InternStack(batch, dictionary, batch.samples.stack[i]),
                        .value = batch.samples.value[i],
                        .count = 0};
    if (rule == CountRule::kStored) {
      record.count = static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(profile::Observations(batch, profile, i), 0, UINT32_MAX));
    }
    samples.PutRun(kSeries, record.series, 1);
    samples.PutFixed(kStack, record.stack);
    samples.PutFixed(kValue, record.value);
    samples.PutRun(kCount, record.count, 1);
    const bool linked = batch.samples.link[i] != 0;
    std::string_view rest = labels->rest;
    if (!rest.empty() && TooLarge()) rest = {};  // labels over the limit, once for every sample
    const bool detailed =
        batch.samples.times[i].count > 0 || batch.samples.values[i].count > 1 || !rest.empty();
    if (linked) EncodeLink(batch, place, record);
    if (detailed) EncodeDetail(batch, place, record, rest);
  }
  const std::uint32_t count = profile.sample_count;
  samples.PutRun(kBucket, dictionary.key.bucket, count);
  samples.PutRun(kTenant, dictionary.key.tenant, count);
  samples.PutRun(kService, dictionary.key.service, count);
  samples.PutRun(kType, type, count);
  samples.PutRun(kTime, static_cast<std::uint64_t>(place.time_ns), count);
  samples.PutRun(kProfile, dictionary.next_profile, count);
  samples.PutRun(kWriter, dictionary.key.writer, count);
  samples.Added(count);
}

void Encoder::EncodeLink(const Batch& batch, const Place& place, const SampleRecord& record) {
  const profile::Link& link = batch.links[batch.samples.link[record.sample]];
  if (IsZero(link.trace) && IsZero(link.span)) return;
  const Dictionary& dictionary = *place.dictionary;
  (*rows_)[Table::kLinks]
      .Begin(dictionary.key.bucket, dictionary.key.tenant)
      .Bytes(link.trace)
      .Bytes(link.span)
      .Put(dictionary.key.service)
      .Put(record.type)
      .Put(dictionary.next_profile)
      .Put(record.series)
      .Put(record.stack)
      .Put(record.value)
      .Put(record.count)
      .Put(dictionary.key.writer);
}

void Encoder::EncodeDetail(const Batch& batch, const Place& place, const SampleRecord& record,
                           std::string_view attributes) {
  const Dictionary& dictionary = *place.dictionary;
  const profile::Link& link = batch.links[batch.samples.link[record.sample]];
  const profile::Range times = batch.samples.times[record.sample];
  const profile::Range values = batch.samples.values[record.sample];
  Begin(Table::kDetails, dictionary)
      .Put(record.type)
      .Put(place.time_ns)
      .Put(dictionary.next_profile)
      .Put(record.series)
      .Put(record.stack)
      .Put(record.value)
      .Put(record.count)
      .Bytes(link.trace)
      .Bytes(link.span)
      .Array(std::span(batch.times).subspan(times.begin, times.count))
      .Array(std::span(batch.values).subspan(values.begin, values.count))
      .Text(attributes)
      .Put(dictionary.key.writer);
}

}  // namespace wherefore::store
