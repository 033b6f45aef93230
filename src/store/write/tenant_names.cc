// See tenant_names.h.
#include "store/write/tenant_names.h"

#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/log.h"
#include "journal/file.h"

namespace wherefore::store {

Result<> TenantNames::Open(const std::string& path) {
  path_ = path;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  std::istringstream lines(text);
  MutexLock lock(mutex_);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    const std::string name = blank == std::string::npos ? std::string() : line.substr(blank + 1);
    const profile::Tenant tenant(name);
    if (name.empty() || line.substr(0, blank) != std::to_string(tenant.number)) {
      Log(LogLevel::kWarn, "a line of the names of tenants is damaged and left out",
          {{"file", path}, {"line", line}});
      continue;
    }
    names_.emplace(tenant.number, tenant.name);
  }
  return {};
}

Result<bool> TenantNames::IsKnown(const profile::Tenant& tenant) const {
  if (tenant.name.empty()) return true;
  const auto found = names_.find(tenant.number);
  if (found == names_.end()) return false;
  if (found->second == tenant.name) return true;
  return Error(Code::kInvalid,
               fmt::format("tenant '{}' cannot be told from tenant '{}', which has data here: both "
                           "names have the number {}; use another name",
                           tenant.name, found->second, tenant.number));
}

Result<> TenantNames::Check(const profile::Tenant& tenant) const {
  MutexLock lock(mutex_);
  const Result<bool> known = IsKnown(tenant);
  return known ? Result<>() : known.error();
}

Result<> TenantNames::Claim(const profile::Tenant& tenant) {
  MutexLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const bool known, IsKnown(tenant));
  if (known) return {};
  std::map<std::uint32_t, std::string> all(names_.begin(), names_.end());
  all.emplace(tenant.number, tenant.name);
  std::string text;
  for (const auto& [number, name] : all) text += fmt::format("{} {}\n", number, name);
  WHEREFORE_RETURN_IF_ERROR(journal::ReplaceFile(path_, text));
  names_.emplace(tenant.number, tenant.name);
  return {};
}

}  // namespace wherefore::store
