// Files of the page and the OpenAPI description, compiled into the program (cmake/assets.cmake),
// and the routes that serve them (page.cc).
//
// index.html is served under every address of the page and never kept by browsers; what it names
// under /assets carries a hash of its content and is kept forever. An unknown path is a 404: the
// page's own for a browser (it asks for HTML), else JSON, so that a sender's wrong address is never
// answered with HTML.
#pragma once

#include <span>
#include <string_view>

#include "net/http.h"

namespace wherefore::api {

struct Asset {
  std::string_view path;  // "/assets/index-Dk3f9a1b.js"
  std::string_view content_type;
  std::string_view bytes;
  bool gzip = false;  // `bytes` are compressed
};

[[nodiscard]] std::span<const Asset> Assets();

// The router must outlive its own answers: what nothing matched is refused in its words.
void AddPageRoutes(net::Router& router);

}  // namespace wherefore::api
