#include "api/incomplete.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::api {
namespace {

// Leaves out what cannot be read: whoever answers says so.
query::TimeRange AskedFor(const net::HttpRequest& request) {
  const std::int64_t now = NowUnixNs();
  query::TimeRange window{0, INT64_MAX};
  for (const auto& [name, value] : request.QueryParameters()) {
    if (name == "since") {
      if (const auto ns = ParseDuration(value)) window.from_ns = now - *ns;
    } else if (name == "from" || name == "base_from") {
      if (const auto ns = ParseTime(value, now)) {
        window.from_ns = window.from_ns == 0 ? *ns : std::min(window.from_ns, *ns);
      }
    } else if (name == "to" || name == "base_to") {
      if (const auto ns = ParseTime(value, now)) {
        window.to_ns = window.to_ns == INT64_MAX ? *ns : std::max(window.to_ns, *ns);
      }
    }
  }
  return window;
}

}  // namespace

void MarkIncomplete(const Operations& operations, std::uint32_t tenant,
                    const query::TimeRange& range, net::Headers& headers) {
  if (!operations.incomplete) return;
  std::string what = operations.incomplete(tenant, range);
  std::ranges::replace_if(what, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (!what.empty()) headers[std::string(kIncompleteHeader)] = std::move(what);
}

void MarkIncomplete(const Operations& operations, std::uint32_t tenant,
                    const net::HttpRequest& request, net::HttpResponse& response) {
  MarkIncomplete(operations, tenant, AskedFor(request), response.headers);
}

}  // namespace wherefore::api
