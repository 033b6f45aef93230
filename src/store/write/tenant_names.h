// Which name each tenant's number stands for (profile/tenant.h). The first name that writes under a
// number owns it; a second one is refused for writes and for queries, or each would see the
// other's data. A query claims nothing.
//
// Kept in the file `tenants`, a line a tenant (docs/format.md). A line whose number is not that of
// its name is damaged and forgotten: the tenant's next write claims it again.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "base/result.h"
#include "profile/tenant.h"

namespace wherefore::store {

class TenantNames {
 public:
  Result<> Open(const std::string& path);
  // Durable when it returns; no cost for a name that is known.
  Result<> Claim(const profile::Tenant& tenant);
  // kInvalid when the number is another's.
  [[nodiscard]] Result<> Check(const profile::Tenant& tenant) const;

 private:
  [[nodiscard]] Result<bool> IsKnown(const profile::Tenant& tenant) const REQUIRES(mutex_);

  std::string path_;
  mutable Mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> names_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::store
