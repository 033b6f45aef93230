// See functions.h.
#include "store/hours/functions.h"

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_map>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "profile/frame_name.h"
#include "store/engine/schema.h"

namespace wherefore::store {
namespace {

struct NamedFunction {
  std::uint64_t hash = 0;
  std::string name;
  std::string module;
};

// The functions of a dictionary, and which of them lie on each stack.
class StackFunctions {
 public:
  explicit StackFunctions(DictionaryRows rows) : rows_(std::move(rows)) {
    frames_.reserve(rows_.frames.size());
    for (const FrameRow& frame : rows_.frames) {
      const auto begin = static_cast<std::uint32_t>(of_frames_.size());
      AddFrame(frame);
      frames_.push_back({begin, static_cast<std::uint32_t>(of_frames_.size()) - begin});
    }
  }
  [[nodiscard]] const std::vector<NamedFunction>& functions() const { return functions_; }

  // Of a stack, leaf first, into `out`; some may be there twice.
  void Of(std::uint32_t stack, std::vector<std::uint32_t>& out) {
    out.clear();
    if (stack == 0) return out.push_back(Number(profile::kNoStack, ""));
    if (stack > rows_.stacks.size()) return out.push_back(Number(profile::kNameLost, ""));
    const profile::Range range = rows_.stacks[stack - 1];
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const std::uint32_t frame = rows_.stack_frames[range.begin + i];
      if (frame == 0 || frame > frames_.size()) {
        out.push_back(Number(profile::kNameLost, ""));
        continue;
      }
      const profile::Range of = frames_[frame - 1];
      for (std::uint32_t k = 0; k < of.count; ++k) out.push_back(of_frames_[of.begin + k]);
    }
    if (out.empty()) out.push_back(Number(profile::kNoStack, ""));
  }

 private:
  void AddFrame(const FrameRow& frame) {
    static const MappingRow kNone;
    const bool mapped = frame.mapping > 0 && frame.mapping <= rows_.mappings.size();
    const MappingRow& mapping = mapped ? rows_.mappings[frame.mapping - 1] : kNone;
    profile::FrameFacts facts{.mapping_file = mapping.file,
                              .mapping_start = mapping.start,
                              .mapping_offset = mapping.file_offset,
                              .address = frame.address};
    for (const LineRow& line : frame.lines) {
      const bool known = line.function > 0 && line.function <= rows_.functions.size();
      facts.name =
          known ? std::string_view(rows_.functions[line.function - 1].name) : profile::kNameLost;
      facts.system_name =
          known ? std::string_view(rows_.functions[line.function - 1].system_name) : "";
      facts.file = known ? std::string_view(rows_.functions[line.function - 1].file) : "";
      const profile::FlameFunction named = profile::NameFrame(facts);
      of_frames_.push_back(Number(named.name, named.module));
    }
    if (!frame.lines.empty()) return;
    const profile::FlameFunction named = profile::NameFrame(facts);
    of_frames_.push_back(Number(named.name, named.module));
  }
  std::uint32_t Number(std::string_view name, std::string_view module) {
    const std::uint64_t hash = FunctionHash(name, module);
    const auto [at, fresh] =
        numbers_.try_emplace(hash, static_cast<std::uint32_t>(functions_.size()));
    if (fresh) functions_.push_back({hash, std::string(name), std::string(module)});
    return at->second;
  }

  const DictionaryRows rows_;
  std::vector<NamedFunction> functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<profile::Range> frames_;  // into of_frames_
  std::vector<std::uint32_t> of_frames_;
};

struct Amount {
  std::int64_t value = 0;
  std::int64_t n = 0;

  void Add(std::int64_t more, std::int64_t observations) {
    value = SaturatingAdd(value, more);
    n = SaturatingAdd(n, observations);
  }
};
// What a function did: of one group, or of all with how much they differ.
struct Side {
  Amount sum;
  double xx = 0;
  double xe = 0;

  void AddGroup(const Amount& group, double e) {
    sum.Add(group.value, group.n);
    const auto x = static_cast<double>(group.value);
    xx += x * x;
    xe += x * e;
  }
};
struct OfFunction {
  bool seen = false;
  Side self;
  Side total;
};

// One observation of the hour: what a group did in a stack.
struct Record {
  std::uint64_t type = 0;
  std::uint32_t version = 0;
  std::uint32_t group = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t n = 0;
};

// All groups of one type and version.
class GroupedFunctions {
 public:
  explicit GroupedFunctions(StackFunctions& stacks) : stacks_(stacks) {}

  void AddGroup(std::span<const Record> records) {
    Amount all;
    for (const Record& record : records) {
      all.Add(record.value, record.n);
      stacks_.Of(record.stack, on_stack_);
      Grow();
      ++stamp_;
      self_[on_stack_.front()].Add(record.value, record.n);
      for (const std::uint32_t function : on_stack_) {
        if (std::exchange(stamps_[function], stamp_) == stamp_) continue;  // recursion counts once
        if (std::exchange(touched_[function], 1) == 0) of_group_.push_back(function);
        total_[function].Add(record.value, record.n);
      }
    }
    const auto e = static_cast<double>(all.value);
    all_.total.AddGroup(all, e);
    ++groups_;
    for (const std::uint32_t function : of_group_) {
      functions_[function].seen = true;
      functions_[function].self.AddGroup(self_[function], e);
      functions_[function].total.AddGroup(total_[function], e);
      self_[function] = total_[function] = {};
      touched_[function] = 0;
    }
    of_group_.clear();
  }
  [[nodiscard]] const OfFunction& all() const { return all_; }
  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] const std::vector<OfFunction>& functions() const { return functions_; }

 private:
  void Grow() {
    const std::size_t size = stacks_.functions().size();
    if (functions_.size() >= size) return;
    functions_.resize(size);
    self_.resize(size);
    total_.resize(size);
    touched_.resize(size);
    stamps_.resize(size);
  }

  StackFunctions& stacks_;
  OfFunction all_;
  std::uint32_t groups_ = 0;
  std::vector<OfFunction> functions_;
  // Of the group that is being added.
  std::vector<Amount> self_;
  std::vector<Amount> total_;
  std::vector<char> touched_;
  std::vector<std::uint32_t> of_group_;
  std::vector<std::uint64_t> stamps_;
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> on_stack_;
};

// How many observations a sum stands for.
std::int64_t Observations(const Amount& sum, const profile::ProfileType* type) {
  if (type == nullptr) return sum.n;
  switch (type->count_rule) {
    case profile::CountRule::kStored:
      return sum.n;
    case profile::CountRule::kValue:
      return sum.value;
    case profile::CountRule::kValuePerPeriod:
      return type->period > 0 ? sum.value / type->period : sum.n;
  }
  return sum.n;
}

class FunctionRows {
 public:
  FunctionRows(const HourRow& hour, RowSet& rows) : hour_(hour), rows_(rows) {}

  void Add(const Record& of, const std::string& version, const profile::ProfileType* type,
           std::uint64_t function, const OfFunction& sums, std::uint32_t groups, double ee) {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    const DictionaryKey& key = hour_.dictionary;
    rows_[Table::kFunctionHours]
        .Begin(key.bucket, key.tenant, key.service)
        .Put(of.type)
        .Put(hour_.hour)
        .Text(version)
        .Put(key.writer)
        .Put(function)
        .Put(sums.self.sum.value)
        .Put(sums.total.sum.value)
        .Put(Observations(sums.self.sum, type))
        .Put(Observations(sums.total.sum, type))
        .Put(groups)
        .Put(bits(sums.self.xx))
        .Put(bits(sums.self.xe))
        .Put(bits(sums.total.xx))
        .Put(bits(sums.total.xe))
        .Put(bits(ee))
        .Put(hour_.revision + 1);
  }
  void Name(const NamedFunction& function) {
    const DictionaryKey& key = hour_.dictionary;
    rows_[Table::kFunctionNames]
        .Begin(key.bucket, key.tenant, key.service)
        .Put(function.hash)
        .Text(function.name)
        .Text(function.module);
  }

 private:
  const HourRow& hour_;
  RowSet& rows_;
};

// The group of each series: its instance.
std::vector<std::uint32_t> GroupsOf(const std::vector<SeriesRow>& series) {
  std::map<std::string, std::uint32_t> numbers;
  const auto number = [&](const std::string& instance) {
    return numbers.try_emplace(instance, static_cast<std::uint32_t>(numbers.size())).first->second;
  };
  std::vector<std::uint32_t> groups(series.size() + 1, number(""));
  for (const SeriesRow& row : series) {
    if (row.series >= groups.size()) continue;
    for (const std::string_view label : kInstanceLabels) {
      const auto found =
          std::ranges::find(row.labels, label, &std::pair<std::string, std::string>::first);
      if (found == row.labels.end() || found->second.empty()) continue;
      groups[row.series] = number(found->second);
      break;
    }
  }
  return groups;
}

auto GroupOrder(const Record& r) {
  return std::tuple(r.type, r.version, r.group);
}

// The records from `begin` on that have the same key as the first of them.
template <typename Key>
std::span<const Record> Run(std::span<const Record> records, Key&& key) {
  const auto end = std::ranges::find_if(
      records, [&](const Record& r) { return key(r) != key(records.front()); });
  return {records.begin(), end};
}

}  // namespace

std::uint64_t FunctionHash(std::string_view name, std::string_view module) {
  std::string both(name);
  both += '\0';
  both += module;
  const std::uint64_t hash = Hash64(both);
  return hash == 0 ? 1 : hash;
}

Result<std::unordered_set<std::uint64_t>*> NamedFunctions::Of(const DictionaryKey& dictionary) {
  constexpr std::size_t kMostBuckets = 256;
  const Key key(dictionary.tenant, dictionary.service, dictionary.bucket);
  const auto known = known_.find(key);
  if (known != known_.end()) return &known->second;
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> stored, load_(dictionary));
  if (known_.size() >= kMostBuckets) known_.clear();
  auto& set = known_[key];
  set.insert(stored.begin(), stored.end());
  return &set;
}

Result<> EncodeFunctions(Reader& reader, const HourSamples& samples,
                         const std::vector<SeriesRow>& series, const SeriesVersions& versions,
                         NamedFunctions& names, RowSet& rows, const CancelToken& cancel) {
  const DictionaryKey& key = samples.hour.dictionary;
  WHEREFORE_ASSIGN_OR_RETURN(DictionaryRows dictionary, reader.Dictionary(key, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<TypeRow> types, reader.Types({key}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(std::unordered_set<std::uint64_t>* const named, names.Of(key));
  StackFunctions stacks(std::move(dictionary));
  const std::vector<std::uint32_t> groups = GroupsOf(series);
  std::vector<Record> records;
  records.reserve(samples.sums.size());
  for (const auto& [sum, id] : samples.sums) {
    records.push_back({sum.type, versions.Of(id), groups[id < groups.size() ? id : 0], sum.stack,
                       sum.value, sum.count});
  }
  std::ranges::sort(records, {}, GroupOrder);
  FunctionRows out(samples.hour, rows);
  for (std::span<const Record> left(records); !left.empty();) {
    const auto of_version = Run(left, [](const Record& r) { return std::pair(r.type, r.version); });
    left = left.subspan(of_version.size());
    GroupedFunctions grouped(stacks);
    for (std::span<const Record> more = of_version; !more.empty();) {
      const auto group = Run(more, GroupOrder);
      grouped.AddGroup(group);
      more = more.subspan(group.size());
    }
    const Record& first = of_version.front();
    const auto type = std::ranges::find(types, first.type, &TypeRow::type);
    const profile::ProfileType* const details = type == types.end() ? nullptr : &type->details;
    const std::string& version = versions.texts[first.version];
    const double ee = grouped.all().total.xx;
    out.Add(first, version, details, 0, grouped.all(), grouped.groups(), ee);
    for (std::size_t i = 0; i < grouped.functions().size(); ++i) {
      const OfFunction& of = grouped.functions()[i];
      if (!of.seen) continue;
      const NamedFunction& function = stacks.functions()[i];
      out.Add(first, version, details, function.hash, of, grouped.groups(), ee);
      if (named->insert(function.hash).second) out.Name(function);
    }
  }
  return {};
}

}  // namespace wherefore::store
