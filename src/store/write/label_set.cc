#include "store/write/label_set.h"

#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "profile/limits.h"
#include "profile/observations.h"
#include "profile/reduced.h"
#include "profile/type_id.h"

namespace wherefore::store {

using profile::AttributePlace;
using profile::Batch;

namespace {

// Counts before anything is copied.
class Room {
 public:
  Room(std::size_t most_labels, std::string_view of) : most_labels_(most_labels), of_(of) {}

  void Take(const profile::TextPool& pool, const profile::Attribute& attribute) {
    ++labels_;
    bytes_ += pool.Text(attribute.key).size() + pool.Text(attribute.value.text).size();
  }
  [[nodiscard]] std::string Problem() const {
    if (labels_ > most_labels_) {
      return fmt::format("{} labels, {} may have {}", labels_, of_, most_labels_);
    }
    if (bytes_ > profile::kMaxLabelBytes) {
      return fmt::format("{} bytes of labels, {} may have {}", bytes_, of_,
                         profile::kMaxLabelBytes);
    }
    return {};
  }

 private:
  const std::size_t most_labels_;
  const std::string_view of_;
  std::size_t labels_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

bool IsLabel(std::string_view key) {
  // "bytes": the size of the blocks in a Go heap sample, a measure rather than a label. Whether
  // links were taken away changes from one profile of a series to the next.
  if (key == "thread.id" || key == "cpu.logical_number" || key == "process.pid" || key == "bytes" ||
      key == profile::kReducedKey) {
    return false;
  }
  std::string plain;
  for (const char c : key) {
    if (c != '.' && c != '_' && c != '-' && c != ' ') {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return !plain.ends_with("traceid") && !plain.ends_with("spanid") && !plain.ends_with("profileid");
}

void LabelSet::Add(AttributePlace place, const profile::TextPool& pool,
                   const profile::Attribute& attribute) {
  const std::string_view key = pool.Text(attribute.key);
  if (!IsLabel(key)) {
    profile::AppendTyped(rest_, place, pool, attribute);
    return;
  }
  profile::AppendTyped(entries_.emplace_back(), place, pool, attribute);
  if (place != AttributePlace::kScope) labels_.emplace_back(key, ValueText(pool, attribute.value));
}

void LabelSet::AddText(AttributePlace place, std::string_view text) {
  if (text.empty()) return;
  profile::AppendTyped(entries_.emplace_back(),
                       {.place = place, .kind = profile::Value::Kind::kString, .text = text});
}

void LabelSet::Finish() {
  std::ranges::sort(entries_);
  for (const std::string& entry : entries_) encoded_ += entry;
  entries_ = {};
  std::ranges::stable_sort(labels_, {}, &Labels::value_type::first);
  // Of those with one name the last is the nearest.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (i + 1 < labels_.size() && labels_[i + 1].first == labels_[i].first) continue;
    if (kept != i) labels_[kept] = std::move(labels_[i]);
    ++kept;
  }
  labels_.resize(kept);
}

std::size_t LabelSet::ByteSize() const {
  std::size_t bytes = encoded_.size() + rest_.size();
  for (const auto& [name, value] : labels_) bytes += name.size() + value.size();
  return bytes;
}

LabelSet::Labels Merge(const LabelSet::Labels& wider, const LabelSet::Labels& nearer) {
  LabelSet::Labels out;
  out.reserve(wider.size() + nearer.size());
  auto w = wider.begin();
  for (const auto& label : nearer) {
    while (w != wider.end() && w->first < label.first) out.push_back(*w++);
    if (w != wider.end() && w->first == label.first) ++w;
    out.push_back(label);
  }
  out.insert(out.end(), w, wider.end());
  return out;
}

void LabelSets::Begin(const Batch& batch, std::size_t most_bytes) {
  most_bytes_ = most_bytes;
  sets_.clear();
  sets_.emplace_back();
  of_profiles_.assign(batch.profiles.size(), 0);
  of_samples_.clear();
  by_content_.clear();
  bytes_ = 0;
}

std::uint32_t LabelSets::Keep(LabelSet set) {
  set.Finish();
  bytes_ += set.ByteSize();
  sets_.push_back(std::move(set));
  return static_cast<std::uint32_t>(sets_.size() - 1);
}

std::string LabelSets::Add(const Batch& batch, std::size_t profile) {
  const auto full = [this] {
    return fmt::format("with it the labels of the request would take more than {} bytes",
                       most_bytes_);
  };
  if (bytes_ > most_bytes_) return full();
  if (std::string problem = AddProfile(batch, profile); !problem.empty()) return problem;
  const profile::Profile& p = batch.profiles[profile];
  for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
    if (batch.samples.attributes[i].count == 0) continue;
    std::string problem = AddSample(batch, i);
    if (problem.empty() && bytes_ > most_bytes_) problem = full();
    if (!problem.empty()) return fmt::format("sample {}: {}", i - p.first_sample, problem);
  }
  return {};
}

std::string LabelSets::AddProfile(const Batch& batch, std::size_t profile) {
  const profile::Profile& p = batch.profiles[profile];
  const bool own_name = !profile::OwnName(batch, p).empty();
  struct {
    std::uint32_t resource, scope;
    Hash128 attributes;
    std::uint64_t own_name;
  } const content{p.resource, p.scope, HashSpan(batch.AttributeRefs(p.attributes)),
                  own_name ? 1U : 0U};
  const Hash128 hash = HashBytes(&content, sizeof(content), 1);
  if (const auto known = by_content_.find(hash); known != by_content_.end()) {
    of_profiles_[profile] = known->second;
    return {};
  }
  const profile::Resource& resource = batch.resources[p.resource];
  const profile::Scope& scope = batch.scopes[p.scope];
  Room room(profile::kMaxProfileLabels, "a profile with its resource and scope");
  for (const auto& a : batch.OwnAttributes(resource.attributes)) room.Take(batch, a);
  for (const auto& a : batch.OwnAttributes(scope.attributes)) room.Take(batch, a);
  for (const profile::Id id : batch.AttributeRefs(p.attributes)) {
    if (batch.Text(batch.attributes[id].key) != profile::kObservationsKey)
      room.Take(batch, batch.attributes[id]);
  }
  if (std::string problem = room.Problem(); !problem.empty()) return problem;
  LabelSet set;
  for (const auto& a : batch.OwnAttributes(resource.attributes))
    set.Add(AttributePlace::kResource, batch, a);
  set.AddText(AttributePlace::kEntityRefs, batch.Text(resource.entity_refs));
  set.AddText(AttributePlace::kScopeName, batch.Text(scope.name));
  set.AddText(AttributePlace::kScopeVersion, batch.Text(scope.version));
  for (const auto& a : batch.OwnAttributes(scope.attributes))
    set.Add(AttributePlace::kScope, batch, a);
  for (const profile::Id id : batch.AttributeRefs(p.attributes)) {
    const profile::Attribute& a = batch.attributes[id];
    if (batch.Text(a.key) == profile::kObservationsKey) continue;  // has a column of its own
    if (own_name && batch.Text(a.key) == profile::kProfileNameKey) continue;  // is in its type
    set.Add(AttributePlace::kProfile, batch, a);
  }
  of_profiles_[profile] = by_content_[hash] = Keep(std::move(set));
  return {};
}

std::string LabelSets::AddSample(const Batch& batch, std::size_t sample) {
  if (of_samples_.empty()) of_samples_.assign(batch.samples.size(), 0);
  const auto refs = batch.AttributeRefs(batch.samples.attributes[sample]);
  std::uint32_t& set = of_samples_[sample];
  const Hash128 hash = HashSpan(refs);
  if (const auto known = by_content_.find(hash); known != by_content_.end()) {
    set = known->second;
  } else {
    Room room(profile::kMaxSampleLabels, "a sample");
    for (const profile::Id id : refs) room.Take(batch, batch.attributes[id]);
    if (std::string problem = room.Problem(); !problem.empty()) return problem;
    LabelSet built;
    for (const profile::Id id : refs)
      built.Add(AttributePlace::kSample, batch, batch.attributes[id]);
    set = by_content_[hash] = Keep(std::move(built));
  }
  bytes_ += sets_[set].rest().size();  // is written for every sample
  return {};
}

}  // namespace wherefore::store
