// Files of the first page and the OpenAPI description, compiled into the program
// (cmake/assets.cmake).
#pragma once

#include <span>
#include <string_view>

namespace wherefore::api {

struct Asset {
  std::string_view path;  // "/app.js"
  std::string_view content_type;
  std::string_view bytes;
};

[[nodiscard]] std::span<const Asset> Assets();

}  // namespace wherefore::api
