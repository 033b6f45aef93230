// A tenant: whose data it is, where a server keeps data of several owners apart. Plain data; any
// thread.
//
// Rows hold the number. It is a hash of the name, so servers agree without asking each other. Two
// names may collide: the store keeps the first and refuses the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace wherefore::profile {

// Never 0, the number of requests without a tenant.
[[nodiscard]] inline std::uint32_t TenantNumber(std::string_view name) {
  const auto number = static_cast<std::uint32_t>(Hash64(name));
  return number == 0 ? 1 : number;
}

struct Tenant {
  Tenant() = default;
  // An empty name means no tenant.
  explicit Tenant(std::string_view tenant_name)
      : number(tenant_name.empty() ? 0 : TenantNumber(tenant_name)), name(tenant_name) {}
  Tenant(std::uint32_t its_number, std::string its_name)
      : number(its_number), name(std::move(its_name)) {}

  std::uint32_t number = 0;
  std::string name;
};

}  // namespace wherefore::profile
