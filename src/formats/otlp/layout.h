// Detects which field numbers a sender's OTLP profiles use. The messages were renumbered twice
// under the same package name, so old data decodes into nonsense without an error; only its shape
// gives it away.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "formats/otlp/fields.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

enum class Layout : std::uint8_t { kCurrent, kOld };  // kOld: 1.8 and 1.9

// Decides by the majority of the first samples. Throws on broken protobuf. `attributes` is the size
// of the attribute table, which helps to tell attribute lists from lists of values.
[[nodiscard]] Layout DetectLayout(std::string_view request, std::size_t attributes);
// Whether a Profile of an old request is 1.8 (with comments) or 1.9 (numbered as today).
[[nodiscard]] bool IsLayout18(Pbf profile);

// DecodeOtlpProfiles with a given layout; detects it if there is none.
[[nodiscard]] Result<DecodedProfiles> DecodeOtlpProfilesAs(std::shared_ptr<const std::string> body,
                                                           std::optional<Layout> layout);

}  // namespace wherefore::formats
