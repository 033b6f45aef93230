// Profiles or spans put back under their resources and scopes, in order of first appearance.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "profile/batch.h"

namespace wherefore::formats {

struct ScopeGroup {
  profile::Id scope;
  std::vector<std::size_t> items;  // indices of profiles or spans
};
struct ResourceGroup {
  profile::Id resource;
  std::vector<ScopeGroup> scopes;
};

template <typename Items>
std::vector<ResourceGroup> GroupByResource(const Items& items) {
  std::vector<ResourceGroup> groups;
  std::unordered_map<profile::Id, std::size_t> group_of;
  // (resource, scope) -> position among the resource's scopes
  std::unordered_map<std::uint64_t, std::size_t> scope_of;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto [it, is_new] = group_of.try_emplace(items[i].resource, groups.size());
    if (is_new) groups.push_back({items[i].resource, {}});
    std::vector<ScopeGroup>& scopes = groups[it->second].scopes;
    const std::uint64_t key = std::uint64_t{items[i].resource} << 32 | items[i].scope;
    const auto [scope_it, new_scope] = scope_of.try_emplace(key, scopes.size());
    if (new_scope) scopes.push_back({items[i].scope, {}});
    scopes[scope_it->second].items.push_back(i);
  }
  return groups;
}

}  // namespace wherefore::formats
