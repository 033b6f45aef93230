#include "store/memory/selected.h"

#include <algorithm>

namespace wherefore::store::memory {

Selected::Selected(const SampleQuery& query) : query_(query) {
  for (std::size_t i = 0; i < query.selections.size(); ++i) {
    const SeriesSelection& selection = query.selections[i];
    services_.insert(selection.dictionary.service);
    buckets_.insert(selection.dictionary.bucket);
    writers_.insert(selection.dictionary.writer);
    types_.insert(selection.types.begin(), selection.types.end());
    all_types_ = all_types_ || selection.types.empty();
    some_only_ = some_only_ || !selection.series.empty() || selection.stacks;
    Part& part = parts_[PlaceOf(selection.dictionary)].emplace_back();
    part.selection = static_cast<std::uint32_t>(i);
    part.series.insert(selection.series.begin(), selection.series.end());
    if (selection.stacks)
      part.stacks.insert(selection.stacks->stacks.begin(), selection.stacks->stacks.end());
  }
}

bool Selected::Wants(const Part& part, const Subject& row) const {
  if (!part.series.empty() && !part.series.contains(row.series)) return false;
  const std::optional<StackSet>& wanted = query_.selections[part.selection].stacks;
  if (!wanted) return true;
  if (!row.stack) return false;
  const bool listed = part.stacks.contains(*row.stack);
  return wanted->all_below ? *row.stack < *wanted->all_below && !listed : listed;
}

bool Selected::Matches(const Subject& row) const {
  if (row.key.tenant != query_.tenant || !services_.contains(row.key.service) ||
      !buckets_.contains(row.key.bucket) || !writers_.contains(row.key.writer))
    return false;
  if (row.time_ns && (*row.time_ns < query_.range.from_ns || *row.time_ns >= query_.range.to_ns))
    return false;
  if (!all_types_ && !types_.contains(row.type)) return false;
  if (!some_only_) return true;
  const auto found = parts_.find(PlaceOf(row.key));
  return found != parts_.end() &&
         std::ranges::any_of(found->second, [&](const Part& part) { return Wants(part, row); });
}

std::optional<std::uint32_t> Selected::Find(const DictionaryKey& key, std::uint64_t type) const {
  const auto found = parts_.find(PlaceOf(key));
  if (found == parts_.end()) return std::nullopt;
  const std::uint32_t first = found->second.front().selection;
  const auto& types = query_.selections[first].types;
  if (!types.empty() && std::ranges::find(types, type) == types.end()) return std::nullopt;
  return first;
}

}  // namespace wherefore::store::memory
