#include "store/read/whole_samples.h"

#include <utility>

namespace wherefore::store {
namespace {

template <typename Key>
bool TakeOne(std::map<Key, std::size_t>& counts, const Key& key) {
  const auto found = counts.find(key);
  if (found == counts.end() || found->second == 0) return false;
  --found->second;
  return true;
}

}  // namespace

void WholeSamples::AddDetail(SampleRow row) {
  ++told_[KeyOf(row)];
  if (row.trace != profile::TraceId{} || row.span != profile::SpanId{}) ++told_links_[LinkOf(row)];
  rows_.push_back(std::move(row));
}

void WholeSamples::AddLink(SampleRow row) {
  if (TakeOne(told_links_, LinkOf(row))) return;
  ++told_[KeyOf(row)];
  rows_.push_back(std::move(row));
}

void WholeSamples::AddSample(SampleRow row) {
  if (!TakeOne(told_, KeyOf(row))) rows_.push_back(std::move(row));
}

}  // namespace wherefore::store
