// Which numbering a sender's OTLP profiles use. The messages were renumbered twice without a change
// of package, so old data decodes without an error into nonsense; only its shape tells.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "formats/wire.h"

namespace wherefore::formats {

enum class Layout : std::uint8_t { kCurrent, kOld };  // kOld: 1.8 and 1.9

// Looks at the first samples of the request and goes by the majority. Throws on broken protobuf.
// `attributes`: size of the attribute table, which tells attribute lists from lists of values.
[[nodiscard]] Layout DetectLayout(std::string_view request, std::size_t attributes);
// For one Profile of an old request: 1.8 (with comments) or 1.9 (numbered as today)?
[[nodiscard]] bool IsLayout18(Pbf profile);

// DecodeOtlpProfiles for bytes whose layout is known; detected when it is not.
[[nodiscard]] Result<DecodedProfiles> DecodeOtlpProfilesAs(std::shared_ptr<const std::string> body,
                                                           std::optional<Layout> layout);

}  // namespace wherefore::formats
