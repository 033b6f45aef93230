// Profiles or spans grouped by resource and scope, in order of first appearance, and the envelope
// OTLP writes them in. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "formats/otlp/common.h"
#include "formats/otlp/fields.h"
#include "formats/wire/protobuf.h"
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

// Writes resources and scopes of `batch`, and calls write_item(writer, item) for each of its
// `items`.
template <typename Batch, typename Items, typename WriteItem>
void WriteEnvelope(PbfWriter& root, const Batch& batch, const Items& items,
                   const WriteItem& write_item) {
  for (const ResourceGroup& group : GroupByResource(items)) {
    PbfWriter out(root, envelope::kResources);
    const profile::Resource& resource = batch.resources[group.resource];
    {
      PbfWriter w(out, envelope::kResource);
      WriteResource(w, batch, resource);
    }
    for (const ScopeGroup& in_scope : group.scopes) {
      PbfWriter scope_out(out, envelope::kScopes);
      const profile::Scope& scope = batch.scopes[in_scope.scope];
      {
        PbfWriter w(scope_out, envelope::kScope);
        WriteScope(w, batch, scope);
      }
      for (const std::size_t i : in_scope.items) {
        PbfWriter w(scope_out, envelope::kItems);
        write_item(w, items[i]);
      }
      AddText(scope_out, envelope::kSchemaUrl, batch.Text(scope.schema_url));
    }
    AddText(out, envelope::kSchemaUrl, batch.Text(resource.schema_url));
  }
}

}  // namespace wherefore::formats
