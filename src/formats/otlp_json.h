// OTLP's JSON <-> its binary form, by schema (otlp_schema.h). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/otlp_schema.h"

namespace wherefore::formats {

// kCorrupt with the path of the field when the text is not JSON or a value does not fit its field.
// Accepts lowerCamelCase and snake_case keys; unknown keys are ignored.
[[nodiscard]] Result<std::string> JsonToBinary(std::string_view json, const Schema& schema);
// `bytes` must be what our own encoders wrote.
[[nodiscard]] std::string BinaryToJson(std::string_view bytes, const Schema& schema);

}  // namespace wherefore::formats
