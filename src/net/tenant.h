// The tenant of a request, if the server separates tenants. Pure; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace wherefore::net {

inline constexpr std::string_view kTenantHeader = "X-Scope-OrgID";

// The tenant's name; empty if the server does not separate tenants. kUnauthenticated if it does and
// the request names none: Pyroscope's clients expect that, and its pages detect tenants by it.
[[nodiscard]] inline Result<std::string_view> RequireTenant(const Headers& headers,
                                                            bool keeps_tenants) {
  if (!keeps_tenants) return std::string_view();
  const auto it = headers.find(kTenantHeader);
  if (it == headers.end() || it->second.empty()) {
    return Error(Code::kUnauthenticated,
                 "no org id: this server keeps tenants apart, so requests "
                 "need the header X-Scope-OrgID");
  }
  if (it->second.find('|') != std::string::npos) {
    return Error(Code::kInvalid, "X-Scope-OrgID: several tenants at once are not supported");
  }
  return std::string_view(it->second);
}

}  // namespace wherefore::net
