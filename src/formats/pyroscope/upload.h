// What Pyroscope's clients wrap around a profile: the application name with its labels, where a
// profile's name comes from, and the messages of its push service. See docs/api.md. Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/formats.h"

namespace wherefore::formats {

// "name{a=b,c=d}". Labels that begin with "__" are private to the client and left out.
struct AppName {
  std::string service;
  TextLabels labels;
};
[[nodiscard]] Result<AppName> ParseAppName(std::string_view text);

// For stacks of bare names the type is the part of the application name after its last dot (cpu if
// there is none); it is removed from `service`. kInvalid if it is unknown.
[[nodiscard]] Result<StacksContext> StacksTypeOf(std::string& service, std::int64_t sample_rate);

// sample_type_config of a multipart upload: what the sender declares about each pprof sample type.
struct SampleTypeConfig {
  std::string display_name;
  std::optional<bool> cumulative;
};
using SampleTypeConfigs = std::map<std::string, SampleTypeConfig, std::less<>>;
[[nodiscard]] Result<SampleTypeConfigs> ParseSampleTypeConfig(std::string_view json);

// The name ("process_cpu", "memory", "mutex", ...) of an uploaded pprof file, from its sample
// types.
[[nodiscard]] std::string PprofName(const std::vector<std::string>& sample_types,
                                    const SampleTypeConfigs& configs);
// The sample types of a decoded file, in its order.
[[nodiscard]] std::vector<std::string> SampleTypes(const profile::Batch& batch);

// push.v1.PushRequest.
struct PushSeries {
  TextLabels labels;
  struct Sample {
    std::shared_ptr<const std::string> profile;  // pprof, gzip or not
    profile::ProfileId id{};
  };
  std::vector<Sample> samples;
};
[[nodiscard]] Result<std::vector<PushSeries>> DecodePush(std::string_view bytes);
// A push request with one pprof file under these labels.
[[nodiscard]] std::string EncodePush(const TextLabels& labels, std::string_view pprof);
[[nodiscard]] Result<std::vector<PushSeries>> DecodePushJson(std::string_view json);

}  // namespace wherefore::formats
