#include "formats/pyroscope/upload.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "formats/wire/json.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/utf8.h"

namespace wherefore::formats {
namespace {

bool Consists(std::string_view text, std::string_view also) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || also.find(c) != also.npos;
  });
}

Error BadName(std::string_view text, std::string_view what) {
  return {Code::kInvalid, fmt::format("name: \"{}\": {}", text.substr(0, 200), what)};
}

struct SuffixType {
  std::string_view suffix;
  std::string_view name;
  std::string_view type;
  std::string_view unit;
};
constexpr std::array kSuffixTypes = {
    SuffixType{"cpu", "process_cpu", "samples", "count"},
    SuffixType{"itimer", "process_cpu", "samples", "count"},
    SuffixType{"wall", "wall", "samples", "count"},
    SuffixType{"inuse_objects", "memory", "inuse_objects", "count"},
    SuffixType{"alloc_objects", "memory", "alloc_objects", "count"},
    SuffixType{"inuse_space", "memory", "inuse_space", "bytes"},
    SuffixType{"alloc_space", "memory", "alloc_space", "bytes"},
    SuffixType{"goroutines", "goroutine", "goroutines", "count"},
    SuffixType{"mutex_count", "mutex", "contentions", "count"},
    SuffixType{"mutex_duration", "mutex", "delay", "nanoseconds"},
    SuffixType{"block_count", "block", "contentions", "count"},
    SuffixType{"lock_count", "block", "contentions", "count"},
    SuffixType{"block_duration", "block", "delay", "nanoseconds"},
    SuffixType{"lock_duration", "block", "delay", "nanoseconds"},
    SuffixType{"alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count"},
    SuffixType{"alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes"},
    SuffixType{"alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count"},
    SuffixType{"alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes"},
    SuffixType{"live", "memory", "live", "count"},
    SuffixType{"exceptions", "exceptions", "samples", "count"},
    SuffixType{"seconds", "wall", "samples", "count"},
    SuffixType{"nanoseconds", "wall", "samples", "count"},
    SuffixType{"microseconds", "wall", "samples", "count"},
    SuffixType{"milliseconds", "wall", "samples", "count"},
    SuffixType{"bytes", "memory", "samples", "bytes"},
};

// The display names of Go's types, unless the sender gives its own.
std::string_view BuiltInDisplayName(std::string_view type) {
  if (type == "samples") return "cpu";
  if (type == "goroutine") return "goroutines";
  if (type == "contentions") return "mutex_count";
  if (type == "delay") return "mutex_duration";
  return type;
}

constexpr Field kLabelPairFields[] = {{"name", 1, FieldKind::kString},
                                      {"value", 2, FieldKind::kString}};
constexpr Schema kLabelPair{kLabelPairFields};
constexpr Field kRawSampleFields[] = {{"rawProfile", 1, FieldKind::kBytes},
                                      {"ID", 2, FieldKind::kString}};
constexpr Schema kRawSample{kRawSampleFields};
constexpr Field kRawSeriesFields[] = {{"labels", 1, FieldKind::kMessage, true, &kLabelPair},
                                      {"samples", 2, FieldKind::kMessage, true, &kRawSample}};
constexpr Schema kRawSeries{kRawSeriesFields};
constexpr Field kPushFields[] = {{"series", 1, FieldKind::kMessage, true, &kRawSeries}};
constexpr Schema kPush{kPushFields};

std::string Utf8(std::string_view text) {
  return IsValidUtf8(text) ? std::string(text) : ReplaceBadUtf8(text);
}

std::pair<std::string, std::string> ReadLabelPair(Pbf r) {
  std::pair<std::string, std::string> label;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(1):
        label.first = Utf8(GetView(r));
        break;
      case LenKey(2):
        label.second = Utf8(GetView(r));
        break;
      default:
        r.skip();
    }
  }
  return label;
}

// A UUID with or without dashes; anything else is not an id.
profile::ProfileId ReadProfileId(std::string_view text) {
  std::string hex(text);
  std::erase(hex, '-');
  profile::ProfileId id{};
  const std::optional<std::string> bytes = FromHex(hex);
  if (bytes && bytes->size() == id.size()) std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

PushSeries ReadSeries(Pbf r) {
  PushSeries series;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(1):
        series.labels.push_back(ReadLabelPair(r.get_message()));
        break;
      case LenKey(2): {
        PushSeries::Sample& sample = series.samples.emplace_back();
        std::string_view profile;
        for (Pbf m = r.get_message(); m.next();) {
          switch (m.tag_and_type()) {
            case LenKey(1):
              profile = GetView(m);
              break;
            case LenKey(2):
              sample.id = ReadProfileId(GetView(m));
              break;
            default:
              m.skip();
          }
        }
        sample.profile = std::make_shared<const std::string>(profile);
        break;
      }
      default:
        r.skip();
    }
  }
  return series;
}

}  // namespace

Result<AppName> ParseAppName(std::string_view text) {
  AppName name;
  const std::size_t open = text.find('{');
  const std::string_view service = Trim(text.substr(0, open));
  if (service.empty()) return BadName(text, "an application name is expected");
  if (!Consists(service, "_.-/")) {
    return BadName(text, "an application name has letters, digits and _ . - / only");
  }
  name.service = service;
  if (open == std::string_view::npos) return name;
  std::string_view rest = text.substr(open + 1);
  const std::size_t close = rest.find('}');
  if (close == std::string_view::npos) return BadName(text, "the closing } is missing");
  rest = rest.substr(0, close);
  while (!Trim(rest).empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, comma);
    rest = rest.substr(std::min(comma + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return BadName(text, "a label is written key=value");
    const std::string_view key = Trim(pair.substr(0, equals));
    if (key.empty() || !Consists(key, "_.")) {
      return BadName(text, "a label's key has letters, digits, _ and . only");
    }
    if (key.starts_with("__")) continue;
    name.labels.emplace_back(key, Utf8(Trim(pair.substr(equals + 1))));
  }
  return name;
}

Result<StacksContext> StacksTypeOf(std::string& service, std::int64_t sample_rate) {
  const std::size_t dot = service.rfind('.');
  const std::string suffix = dot == std::string::npos ? "cpu" : service.substr(dot + 1);
  const auto* type = std::ranges::find(kSuffixTypes, suffix, &SuffixType::suffix);
  if (type == kSuffixTypes.end()) {
    return Error(Code::kInvalid,
                 fmt::format("name: unknown profile type \"{}\" behind the last dot "
                             "of the application name",
                             suffix));
  }
  if (dot == 0) return Error(Code::kInvalid, "name: an application name is expected");
  if (dot != std::string::npos) service.resize(dot);
  StacksContext context{.name = std::string(type->name),
                        .type = std::string(type->type),
                        .unit = std::string(type->unit)};
  const bool timed = type->name == "process_cpu" || type->name == "wall";
  if (timed && sample_rate > 0) {
    const char* what = type->name == "wall" ? "wall" : "cpu";
    context.type = what;
    context.unit = "nanoseconds";
    context.period_type = "cpu";  // of both
    context.period_unit = "nanoseconds";
    context.period = context.multiplier = std::max<std::int64_t>(1'000'000'000 / sample_rate, 1);
  }
  return context;
}

Result<SampleTypeConfigs> ParseSampleTypeConfig(std::string_view json) {
  const auto fail = [](std::string_view what) {
    return Error(Code::kCorrupt, fmt::format("sample_type_config: {}", what));
  };
  SampleTypeConfigs configs;
  if (json.empty()) return configs;
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const simdjson::error_code error = parser.parse(json.data(), json.size()).get(root);
  if (error != simdjson::SUCCESS) return fail(simdjson::error_message(error));
  for (const auto field : root) {
    SampleTypeConfig& config = configs[std::string(field.key)];
    simdjson::dom::object object;
    if (field.value.get(object) != simdjson::SUCCESS) return fail("an object per type is expected");
    std::string_view name;
    bool cumulative = false;
    if (object["display-name"].get(name) == simdjson::SUCCESS) config.display_name = name;
    if (object["cumulative"].get(cumulative) == simdjson::SUCCESS) config.cumulative = cumulative;
  }
  return configs;
}

std::string PprofName(const std::vector<std::string>& sample_types,
                      const SampleTypeConfigs& configs) {
  if (std::ranges::find(sample_types, "wall") != sample_types.end()) return "wall";
  std::string last;
  for (const std::string& type : sample_types) {
    const auto config = configs.find(type);
    if (config != configs.end() && !config->second.display_name.empty()) {
      last = config->second.display_name;
    } else {
      last = configs.empty() ? BuiltInDisplayName(type) : std::string_view(type);
    }
    const auto has = [&](std::string_view part) { return last.find(part) != last.npos; };
    if (has("cpu")) return "process_cpu";
    if (has("alloc_") || has("inuse_") || last == "space" || last == "objects") return "memory";
    if (has("mutex_")) return "mutex";
    if (has("block_")) return "block";
    if (has("goroutines")) return "goroutines";
  }
  return last;
}

std::vector<std::string> SampleTypes(const profile::Batch& batch) {
  std::vector<std::string> types;
  for (const profile::Profile& p : batch.profiles)
    types.emplace_back(batch.Text(p.sample_type.type));
  return types;
}

Result<std::vector<PushSeries>> DecodePush(std::string_view bytes) {
  std::vector<PushSeries> out;
  try {
    for (Pbf r = Reader(bytes); r.next();) {
      if (r.tag_and_type() == LenKey(1)) {
        out.push_back(ReadSeries(r.get_message()));
      } else {
        r.skip();
      }
    }
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("series[{}]: {}", out.size(), e.what()));
  }
  return out;
}

std::string EncodePush(const TextLabels& labels, std::string_view pprof) {
  std::string out;
  PbfWriter request(out);
  PbfWriter series(request, 1);
  for (const auto& [name, value] : labels) {
    PbfWriter label(series, 1);
    label.add_string(1, name);
    label.add_string(2, value);
  }
  {
    PbfWriter sample(series, 2);
    sample.add_bytes(1, pprof.data(), pprof.size());
  }
  series.commit();
  return out;
}

Result<std::vector<PushSeries>> DecodePushJson(std::string_view json) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, JsonToBinary(json, kPush));
  return DecodePush(bytes);
}

}  // namespace wherefore::formats
