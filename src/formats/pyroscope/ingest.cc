#include "formats/pyroscope/ingest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "formats/pyroscope/senders.h"
#include "formats/recognise.h"
#include "formats/registry.h"
#include "formats/wire/gzip.h"
#include "formats/wire/multipart.h"
#include "profile/counters.h"

namespace wherefore::formats {
namespace {

using Bytes = std::shared_ptr<const std::string>;

constexpr std::size_t kMaxBytes = 64u << 20;  // also after decompression

// Unpacks gzip, whether a header announces it or not.
Result<Bytes> Plain(Bytes bytes) {
  if (!IsGzip(*bytes)) return bytes;
  WHEREFORE_ASSIGN_OR_RETURN(std::string plain, Gunzip(*bytes, kMaxBytes));
  return std::make_shared<const std::string>(std::move(plain));
}

// Negative values cannot be drawn or summed. Go's "?seconds=" profiles have them for memory that
// was freed.
void LeaveOutNegative(DecodedProfiles& decoded) {
  profile::Batch& batch = decoded.data;
  const auto negative = [](std::int64_t value) { return value < 0; };
  const auto count = std::ranges::count_if(batch.samples.value, negative);
  if (count == 0) return;
  std::vector<bool> drop(batch.samples.size());
  for (std::size_t i = 0; i < drop.size(); ++i) drop[i] = negative(batch.samples.value[i]);
  profile::RemoveSamples(batch, drop);
  if (!decoded.message.empty()) decoded.message += "; ";
  decoded.message += fmt::format("{} samples with a value below zero were left out", count);
}

struct PprofUpload {
  Bytes profile;
  SampleTypeConfigs configs;
  Bytes previous;  // null: none
};

Result<std::vector<UploadedProfile>> DecodePprofUpload(const IngestUpload& from,
                                                       const PprofUpload& file) {
  const SenderHabits habits = HabitsOf(from.spy, file.configs);
  const StoredLabels stored = LabelsOfUpload(from.app, from.spy);
  PprofContext context{.service = stored.service,
                       .labels = stored.labels,
                       .time_ns = from.time_ns(),
                       .link = stored.link,
                       .file_in_names = habits.file_in_names,
                       .dash_to_underscore = habits.dash_to_underscore};
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(file.profile));
  WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles decoded, DecodePprof(plain, context));
  UploadedProfile out{.decoded = std::move(decoded)};
  profile::Batch& batch = out.decoded.data;
  const profile::Id name = batch.AddText(PprofName(SampleTypes(batch), file.configs));
  out.cumulative = !habits.sends_differences && IsCumulative(batch, stored.labels);
  for (profile::Profile& p : batch.profiles) {
    p.name = name;
    if (p.duration_ns == 0) p.duration_ns = from.duration_ns();
  }
  std::vector<UploadedProfile> all;
  if (file.previous != nullptr) {
    // The sender is cumulative and sends the start of the interval along.
    WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain_previous, Plain(file.previous));
    WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles previous, DecodePprof(plain_previous, context));
    for (profile::Profile& p : previous.data.profiles) {
      p.name = previous.data.AddText(batch.Text(name));
      p.time_ns = 1;
    }
    profile::CounterMemory difference;
    (void)difference.Convert(previous.data, 0, profile::FirstReading::kSetsBase);
    (void)difference.Convert(batch, 0, profile::FirstReading::kCountsWhole);
    for (profile::Profile& p : batch.profiles) p.duration_ns = from.duration_ns();
    out.cumulative = false;
  }
  LeaveOutNegative(out.decoded);
  all.push_back(std::move(out));
  return all;
}

bool IsForm(const IngestUpload& from) {
  std::string type(from.content_type);
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type.find("multipart/form-data") != std::string::npos;
}

Bytes FindFile(const std::vector<Part>& parts, std::string_view name) {
  const auto part = std::ranges::find_if(parts, [&](const Part& p) {
    return p.name == name && !p.filename.empty() && !p.bytes.empty();
  });
  return part == parts.end() ? nullptr : std::make_shared<const std::string>(part->bytes);
}

Result<std::vector<UploadedProfile>> DecodeForm(const IngestUpload& from) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                             ParseMultipart(*from.body, from.content_type));
  PprofUpload upload{.profile = FindFile(parts, "profile"),
                     .previous = FindFile(parts, "prev_profile")};
  if (upload.profile == nullptr) {
    return Error(Code::kCorrupt, "multipart body: there is no file named \"profile\"");
  }
  if (const Bytes config = FindFile(parts, "sample_type_config")) {
    WHEREFORE_ASSIGN_OR_RETURN(upload.configs, ParseSampleTypeConfig(*config));
  }
  return DecodePprofUpload(from, upload);
}

Result<std::vector<UploadedProfile>> DecodeRecording(const IngestUpload& from) {
  const StoredLabels stored = LabelsOfUpload(from.app, from.spy);
  Bytes recording = from.body;
  Bytes snapshot;
  if (IsForm(from)) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                               ParseMultipart(*from.body, from.content_type));
    recording = FindFile(parts, "jfr");
    snapshot = FindFile(parts, "labels");
    if (recording == nullptr) {
      return Error(Code::kCorrupt, "multipart body: there is no file named \"jfr\"");
    }
  }
  JfrContext context{.service = stored.service,
                     .labels = stored.labels,
                     .from_ns = from.time_ns(),
                     .until_ns = static_cast<std::uint64_t>(from.until_ns),
                     .sample_rate = from.sample_rate > 0 ? from.sample_rate : 100};
  if (snapshot != nullptr) context.labels_snapshot = *snapshot;
  std::vector<UploadedProfile> out(1);
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(recording));
  WHEREFORE_ASSIGN_OR_RETURN(out[0].decoded, DecodeJfr(plain, context));
  return out;
}

using StacksDecoder = Result<DecodedProfiles> (*)(const Bytes&, const StacksContext&);

Result<std::vector<UploadedProfile>> DecodeStacks(const IngestUpload& from, const Bytes& body,
                                                  StacksDecoder decode) {
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(body));
  AppName app = from.app;
  WHEREFORE_ASSIGN_OR_RETURN(StacksContext context, StacksTypeOf(app.service, from.sample_rate));
  const StoredLabels stored = LabelsOfUpload(app, from.spy);
  context.service = stored.service;
  context.labels = stored.labels;
  context.time_ns = from.time_ns();
  context.duration_ns = from.duration_ns();
  context.skip_odd_lines = true;
  std::vector<UploadedProfile> out(1);
  // The stacks of an idle program are an empty text.
  if (plain->empty()) return std::vector<UploadedProfile>();
  WHEREFORE_ASSIGN_OR_RETURN(out[0].decoded, decode(plain, context));
  profile::Batch& batch = out[0].decoded.data;
  if (stored.link.span != profile::SpanId{} || stored.link.trace != profile::TraceId{}) {
    batch.links.push_back(stored.link);
    std::ranges::fill(batch.samples.link, static_cast<profile::Id>(batch.links.size() - 1));
  }
  LeaveOutNegative(out[0].decoded);
  return out;
}

// Text of no other format is folded; lines that do not fit are skipped.
Result<DecodedProfiles> DecodeByContent(const Bytes& plain, const StacksContext& context) {
  const Format* const format = Recognise(*plain);
  if (format == nullptr || !format->bare_stacks) return DecodeFolded(plain, context);
  WHEREFORE_ASSIGN_OR_RETURN(FileContent content, format->decode(plain, context));
  return std::get<DecodedProfiles>(std::move(content));
}

StacksDecoder DecoderFor(const IngestUpload& from) {
  if (from.format == "trie" || from.media_type == "binary/octet-stream+trie") return DecodeTrie;
  if (from.format == "tree" || from.media_type == "binary/octet-stream+tree") return DecodeTree;
  if (from.format == "lines") return DecodeLines;
  if (from.format == "speedscope") return DecodeSpeedscope;
  return nullptr;
}

// One pprof file of a push; its series' labels say what it is.
Result<UploadedProfile> DecodePushed(const TextLabels& labels, const PushSeries::Sample& sample,
                                     std::int64_t now_ns) {
  SeriesFacts facts = FactsOfSeries(labels);
  const PprofContext context{.service = std::move(facts.stored.service),
                             .labels = std::move(facts.stored.labels),
                             .name = std::move(facts.name),
                             .time_ns = static_cast<std::uint64_t>(now_ns),
                             .id = sample.id,
                             .link = facts.stored.link};
  UploadedProfile out;
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(sample.profile));
  WHEREFORE_ASSIGN_OR_RETURN(out.decoded, DecodePprof(plain, context));
  out.cumulative = !facts.sends_differences && IsCumulative(out.decoded.data, labels);
  LeaveOutNegative(out.decoded);
  return out;
}

}  // namespace

Result<std::vector<UploadedProfile>> DecodeIngest(const IngestUpload& upload) {
  if (const StacksDecoder decode = DecoderFor(upload)) {
    return DecodeStacks(upload, upload.body, decode);
  }
  if (upload.format == "jfr") return DecodeRecording(upload);
  // Some releases announce pprof but send a form.
  if (IsForm(upload)) return DecodeForm(upload);
  // Clients may announce the wrong format, and use folded for "other".
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(upload.body));
  if (upload.format == "pprof" || IsPprof(*plain)) {
    return DecodePprofUpload(upload, {.profile = plain});
  }
  if (IsJfr(*plain)) return DecodeRecording(upload);
  return DecodeStacks(upload, plain, DecodeByContent);
}

Result<DecodedPush> DecodePushRequest(std::string_view body, bool json, std::int64_t now_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<PushSeries> all,
                             json ? DecodePushJson(body) : DecodePush(body));
  DecodedPush out;
  // Bounds what a small request unpacks to as a whole, not only per file.
  constexpr std::size_t kMaxDecoded = 256u << 20;
  std::size_t decoded_bytes = 0;
  for (std::size_t s = 0; s < all.size(); ++s) {
    if (all[s].labels.empty())
      out.refused.push_back(fmt::format("series[{}]: it has no labels", s));
    for (std::size_t i = 0; i < all[s].samples.size() && !all[s].labels.empty(); ++i) {
      Result<UploadedProfile> profile = DecodePushed(all[s].labels, all[s].samples[i], now_ns);
      if (profile) decoded_bytes += profile->decoded.data.ApproximateBytes();
      if (decoded_bytes > kMaxDecoded) {
        return Error(
            Code::kInvalid,
            fmt::format("series[{}].samples[{}]: the profiles of this request are too large "
                        "together; send fewer at once",
                        s, i));
      }
      if (profile) {
        out.profiles.push_back(*std::move(profile));
      } else {
        out.refused.push_back(
            fmt::format("series[{}].samples[{}]: {}", s, i, profile.error().message()));
      }
    }
  }
  return out;
}

}  // namespace wherefore::formats
