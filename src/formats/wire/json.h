// Converts JSON to the binary form of a message and back, by its schema. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/wire/schema.h"

namespace wherefore::formats {

// kCorrupt, with the path of the field, if the text is not JSON or a value does not fit its field.
// Accepts lowerCamelCase and snake_case keys and ignores unknown ones.
[[nodiscard]] Result<std::string> JsonToBinary(std::string_view json, const Schema& schema);
// `bytes` must come from our own encoders.
[[nodiscard]] std::string BinaryToJson(std::string_view bytes, const Schema& schema);

}  // namespace wherefore::formats
