// Parses multipart/form-data bodies (RFC 7578), which profiling SDKs use to upload files. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wherefore::formats {

struct Part {
  std::string name;
  std::string filename;    // empty: a plain value
  std::string_view bytes;  // into the body
};

// kCorrupt if the body does not match its content type. At most 100 parts.
[[nodiscard]] Result<std::vector<Part>> ParseMultipart(std::string_view body,
                                                       std::string_view content_type);

}  // namespace wherefore::formats
