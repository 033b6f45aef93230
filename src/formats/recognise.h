// Recognises file formats by content only: names and media types are unreliable. Takes uncompressed
// bytes and judges by their beginning; decoding shows whether the rest is valid. Pure functions;
// any thread. registry.h has all of them in one table.
#pragma once

#include <string_view>

namespace wherefore::formats {

[[nodiscard]] bool IsJfr(std::string_view bytes);
[[nodiscard]] bool IsPprof(std::string_view bytes);
[[nodiscard]] bool IsOtlpProfiles(std::string_view bytes);
[[nodiscard]] bool IsOtlpProfilesJson(std::string_view bytes);
[[nodiscard]] bool IsOtlpTraces(std::string_view bytes);
[[nodiscard]] bool IsOtlpTracesJson(std::string_view bytes);
[[nodiscard]] bool IsFlamebearer(std::string_view bytes);
[[nodiscard]] bool IsSpeedscope(std::string_view bytes);
[[nodiscard]] bool IsFolded(std::string_view bytes);

}  // namespace wherefore::formats
