// Tags of a trace search as Jaeger's clients write them. Pure; any thread.
//
//   {"http.status_code":"500","error":"true"}   a JSON object; numbers and booleans count as text
//   error=true http.route="/a b"                logfmt; "key:value" is accepted too
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wherefore::formats {

using TagList = std::vector<std::pair<std::string, std::string>>;

// kInvalid, with a reason, if it is neither.
[[nodiscard]] Result<TagList> ParseJaegerTags(std::string_view text);

}  // namespace wherefore::formats
