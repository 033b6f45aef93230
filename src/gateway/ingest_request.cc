#include "gateway/ingest_request.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "formats/gzip.h"
#include "formats/link_labels.h"
#include "formats/multipart.h"
#include "formats/pyroscope.h"
#include "formats/pyroscope_time.h"
#include "profile/counters.h"

namespace wherefore::gateway {
namespace {

using Bytes = std::shared_ptr<const std::string>;
using formats::DecodedProfiles;

constexpr std::size_t kMaxBytes = 64u << 20;  // also after decompression

// The query of /ingest.
struct IngestQuery {
  formats::AppName app;
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  std::int64_t sample_rate = 100;
  std::string spy = "unknown";
  std::string format;

  [[nodiscard]] std::uint64_t time_ns() const { return static_cast<std::uint64_t>(from_ns); }
  [[nodiscard]] std::uint64_t duration_ns() const {
    return until_ns > from_ns ? static_cast<std::uint64_t>(until_ns - from_ns) : 0;
  }
};

Result<IngestQuery> ReadQuery(const net::HttpRequest& request, std::int64_t now_ns) {
  IngestQuery query{.from_ns = now_ns, .until_ns = now_ns};
  std::string name;
  for (const auto& [key, value] : request.QueryParameters()) {
    if (key == "name") {
      name = value;
    } else if ((key == "from" || key == "until") && !value.empty()) {
      const auto time = formats::ParsePyroscopeTime(value, now_ns);
      if (!time) {
        return Error(Code::kInvalid, fmt::format("{}: {}", key, time.error().message()));
      }
      (key == "from" ? query.from_ns : query.until_ns) = *time;
    } else if (key == "sampleRate") {
      // 0 is what senders of counts say. What is no rate at all is as if it had not been said.
      const std::optional<std::int64_t> rate = ParseInt(value);
      constexpr std::int64_t kFastest = 1'000'000'000;
      if (rate && *rate >= 0 && *rate <= kFastest) query.sample_rate = *rate;
    } else if (key == "spyName" && !value.empty()) {
      query.spy = value;
    } else if (key == "format") {
      query.format = value;
    }
  }
  WHEREFORE_ASSIGN_OR_RETURN(query.app, formats::ParseAppName(name));
  return query;
}

bool HasLabel(const formats::TextLabels& labels, std::string_view name) {
  return std::ranges::any_of(labels, [&](const auto& label) { return label.first == name; });
}

std::string_view LabelValue(const formats::TextLabels& labels, std::string_view name) {
  const auto it = std::ranges::find(labels, name, [](const auto& label) { return label.first; });
  return it == labels.end() ? std::string_view() : std::string_view(it->second);
}

// The labels a profile is stored under, and what among them is none: a span's id, the service.
struct StoredLabels {
  std::string service;
  formats::TextLabels labels;
  profile::Link link;
};

StoredLabels LabelsOf(const IngestQuery& query) {
  StoredLabels out{.service = query.app.service};
  formats::LinkReader link;
  for (const auto& [key, value] : query.app.labels) {
    if (key == "service_name" || key == "service.name") {
      // The user's own word counts; the application's name is kept beside it.
      if (value.empty()) continue;
      out.service = value;
      out.labels.emplace_back("app_name", query.app.service);
    } else if (!link.Read(key, value)) {
      out.labels.emplace_back(key, value);
    }
  }
  out.link = link.link();
  if (!HasLabel(out.labels, "pyroscope_spy")) out.labels.emplace_back("pyroscope_spy", query.spy);
  return out;
}

// gzip is announced in a header, or not: the bytes tell.
Result<Bytes> Plain(Bytes bytes) {
  if (!formats::IsGzip(*bytes)) return bytes;
  WHEREFORE_ASSIGN_OR_RETURN(std::string plain, formats::Gunzip(*bytes, kMaxBytes));
  return std::make_shared<const std::string>(std::move(plain));
}

// A pprof file of Go's runtime that counts since the process began, unless somebody said otherwise.
bool CountsSinceStart(const profile::Batch& batch, const formats::TextLabels& labels) {
  // Senders that name their scope take differences themselves (Alloy's scraper does not).
  const std::string_view scope = LabelValue(labels, "otel.scope.name");
  if (scope.find("pyroscope/") != std::string_view::npos && !scope.ends_with(".scrape")) {
    return false;
  }
  return std::ranges::any_of(batch.profiles, [&](const profile::Profile& p) {
    const std::string_view period = batch.Text(p.period_type.type);
    return p.duration_ns == 0 && profile::CanBeCumulative(batch.Text(p.sample_type.type)) &&
           (period == "space" || period == "contentions");
  });
}

// Values below zero cannot be drawn or added up: Go's "?seconds=" forms have them for memory that
// was given back.
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
  formats::SampleTypeConfigs configs;
  Bytes previous;  // null: none
};

bool IsScriptSpy(std::string_view spy) {
  return spy == "pyspy" || spy == "rbspy" || spy == "scripting";
}

Result<std::vector<UploadedProfile>> DecodePprofUpload(const IngestQuery& query,
                                                       const PprofUpload& upload) {
  const StoredLabels stored = LabelsOf(query);
  formats::PprofContext context{.service = stored.service,
                                .labels = stored.labels,
                                .time_ns = query.time_ns(),
                                .link = stored.link,
                                .file_in_names = IsScriptSpy(query.spy)};
  context.dash_to_underscore = query.spy == "dotnetspy" ||
                               (query.spy == "unknown" && upload.configs.contains("inuse-space"));
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(upload.profile));
  WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles decoded, formats::DecodePprof(plain, context));
  UploadedProfile out{.decoded = std::move(decoded)};
  profile::Batch& batch = out.decoded.data;
  const profile::Id name =
      batch.AddText(formats::PprofName(formats::SampleTypes(batch), upload.configs));
  const bool declared = std::ranges::any_of(
      upload.configs, [](const auto& c) { return c.second.cumulative.has_value(); });
  // Go's own SDK takes differences since it stopped sending the profile before.
  const bool differences = query.spy == "gospy" || declared;
  out.cumulative = !differences && CountsSinceStart(batch, stored.labels);
  for (profile::Profile& p : batch.profiles) {
    p.name = name;
    if (p.duration_ns == 0) p.duration_ns = query.duration_ns();
  }
  std::vector<UploadedProfile> all;
  if (upload.previous != nullptr) {
    // The sender counts since its start and says itself where the interval began.
    WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain_previous, Plain(upload.previous));
    WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles previous,
                               formats::DecodePprof(plain_previous, context));
    for (profile::Profile& p : previous.data.profiles) {
      p.name = previous.data.AddText(batch.Text(name));
      p.time_ns = 1;
    }
    profile::CounterMemory difference;
    (void)difference.Convert(previous.data, 0, profile::FirstReading::kSetsBase);
    (void)difference.Convert(batch, 0, profile::FirstReading::kCountsWhole);
    for (profile::Profile& p : batch.profiles) p.duration_ns = query.duration_ns();
    out.cumulative = false;
  }
  LeaveOutNegative(out.decoded);
  all.push_back(std::move(out));
  return all;
}

bool IsForm(const net::HttpRequest& request) {
  std::string type(request.Header("Content-Type"));
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type.find("multipart/form-data") != std::string::npos;
}

Bytes FindFile(const std::vector<formats::Part>& parts, std::string_view name) {
  const auto part = std::ranges::find_if(parts, [&](const formats::Part& p) {
    return p.name == name && !p.filename.empty() && !p.bytes.empty();
  });
  return part == parts.end() ? nullptr : std::make_shared<const std::string>(part->bytes);
}

Result<std::vector<UploadedProfile>> DecodeForm(const IngestQuery& query,
                                                const net::HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::vector<formats::Part> parts,
      formats::ParseMultipart(*request.body, request.Header("Content-Type")));
  PprofUpload upload{.profile = FindFile(parts, "profile"),
                     .previous = FindFile(parts, "prev_profile")};
  if (upload.profile == nullptr) {
    return Error(Code::kCorrupt, "multipart body: there is no file named \"profile\"");
  }
  if (const Bytes config = FindFile(parts, "sample_type_config")) {
    WHEREFORE_ASSIGN_OR_RETURN(upload.configs, formats::ParseSampleTypeConfig(*config));
  }
  return DecodePprofUpload(query, upload);
}

Result<std::vector<UploadedProfile>> DecodeRecording(const IngestQuery& query,
                                                     const net::HttpRequest& request) {
  const StoredLabels stored = LabelsOf(query);
  Bytes recording = request.body;
  Bytes snapshot;
  if (IsForm(request)) {
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::vector<formats::Part> parts,
        formats::ParseMultipart(*request.body, request.Header("Content-Type")));
    recording = FindFile(parts, "jfr");
    snapshot = FindFile(parts, "labels");
    if (recording == nullptr) {
      return Error(Code::kCorrupt, "multipart body: there is no file named \"jfr\"");
    }
  }
  formats::JfrContext context{.service = stored.service,
                              .labels = stored.labels,
                              .from_ns = query.time_ns(),
                              .until_ns = static_cast<std::uint64_t>(query.until_ns),
                              .sample_rate = query.sample_rate > 0 ? query.sample_rate : 100};
  if (snapshot != nullptr) context.labels_snapshot = *snapshot;
  std::vector<UploadedProfile> out(1);
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(recording));
  WHEREFORE_ASSIGN_OR_RETURN(out[0].decoded, formats::DecodeJfr(plain, context));
  return out;
}

using StacksDecoder = Result<DecodedProfiles> (*)(const Bytes&, const formats::StacksContext&);

Result<std::vector<UploadedProfile>> DecodeStacks(IngestQuery query, const Bytes& body,
                                                  StacksDecoder decode) {
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(body));
  WHEREFORE_ASSIGN_OR_RETURN(formats::StacksContext context,
                             formats::StacksTypeOf(query.app.service, query.sample_rate));
  const StoredLabels stored = LabelsOf(query);
  context.service = stored.service;
  context.labels = stored.labels;
  context.time_ns = query.time_ns();
  context.duration_ns = query.duration_ns();
  context.skip_odd_lines = true;
  std::vector<UploadedProfile> out(1);
  // An idle program's stacks are no lines at all.
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

StacksDecoder DecoderFor(const IngestQuery& query, const std::string& type) {
  if (query.format == "trie" || type == "binary/octet-stream+trie") return formats::DecodeTrie;
  if (query.format == "tree" || type == "binary/octet-stream+tree") return formats::DecodeTree;
  if (query.format == "lines") return formats::DecodeLines;
  if (query.format == "speedscope") return formats::DecodeSpeedscope;
  return nullptr;
}

}  // namespace

Result<std::vector<UploadedProfile>> DecodeIngest(const net::HttpRequest& request,
                                                  std::int64_t now_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const IngestQuery query, ReadQuery(request, now_ns));
  if (const StacksDecoder decode = DecoderFor(query, request.ContentType())) {
    return DecodeStacks(query, request.body, decode);
  }
  if (query.format == "jfr") return DecodeRecording(query, request);
  // Some releases announce pprof and send a form all the same.
  if (IsForm(request)) return DecodeForm(query, request);
  // Clients are not always right about what they send, and folded text is the word for "other".
  if (query.format == "pprof" || formats::Recognise(*request.body) == formats::FileFormat::kPprof) {
    return DecodePprofUpload(query, {.profile = request.body});
  }
  return DecodeStacks(query, request.body, formats::DecodeFolded);
}

namespace {

// One pprof of a push: its series' labels say what it is.
Result<UploadedProfile> DecodePushed(const formats::TextLabels& labels,
                                     const formats::PushSeries::Sample& sample,
                                     std::int64_t now_ns) {
  formats::PprofContext context{.time_ns = static_cast<std::uint64_t>(now_ns), .id = sample.id};
  formats::LinkReader link;
  bool differences = false;
  for (const auto& [key, value] : labels) {
    if (key == "service_name" || key == "service.name") {
      if (!value.empty()) context.service = value;
    } else if (key == "__name__") {
      context.name = value;
    } else if (key == "__delta__") {
      differences = value == "false";
    } else if (!key.starts_with("__") && !link.Read(key, value)) {
      context.labels.emplace_back(key, value);
    }
  }
  if (context.service.empty()) context.service = "unknown_service";
  context.link = link.link();
  // Scraped through godeltaprof: differences already, under another name.
  constexpr std::string_view kDelta = "godeltaprof_";
  if (context.name.starts_with(kDelta)) {
    context.name.erase(0, kDelta.size());
    differences = true;
  }
  UploadedProfile out;
  WHEREFORE_ASSIGN_OR_RETURN(const Bytes plain, Plain(sample.profile));
  WHEREFORE_ASSIGN_OR_RETURN(out.decoded, formats::DecodePprof(plain, context));
  out.cumulative = !differences && CountsSinceStart(out.decoded.data, labels);
  LeaveOutNegative(out.decoded);
  return out;
}

}  // namespace

Result<DecodedPush> DecodePushRequest(std::string_view body, bool json, std::int64_t now_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<formats::PushSeries> all,
                             json ? formats::DecodePushJson(body) : formats::DecodePush(body));
  DecodedPush out;
  // What a small request unpacks to is bounded as a whole, not only file by file.
  constexpr std::size_t kMostDecoded = 256u << 20;
  std::size_t decoded_bytes = 0;
  for (std::size_t s = 0; s < all.size(); ++s) {
    if (all[s].labels.empty())
      out.refused.push_back(fmt::format("series[{}]: it has no labels", s));
    for (std::size_t i = 0; i < all[s].samples.size() && !all[s].labels.empty(); ++i) {
      Result<UploadedProfile> profile = DecodePushed(all[s].labels, all[s].samples[i], now_ns);
      if (profile) decoded_bytes += profile->decoded.data.ApproximateBytes();
      if (decoded_bytes > kMostDecoded) {
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

}  // namespace wherefore::gateway
