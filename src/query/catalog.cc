#include "query/catalog.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::query {
namespace {

// Do samples have a value of their own for `label`, other than their profile?
bool OnlyOnSamples(const std::vector<store::SeriesRow>& rows, std::string_view label) {
  return std::any_of(rows.begin(), rows.end(), [&](const store::SeriesRow& row) {
    if (row.parent == 0 || row.parent > rows.size()) return false;
    return FindLabel(row.labels, label) != FindLabel(rows[row.parent - 1].labels, label);
  });
}

bool NeedsSamples(const std::vector<store::SeriesRow>& rows, const Selector& selector,
                  const std::vector<std::string>& group_by) {
  const auto only = [&](std::string_view label) { return OnlyOnSamples(rows, label); };
  return std::any_of(group_by.begin(), group_by.end(), only) ||
         std::any_of(selector.label_matchers().begin(), selector.label_matchers().end(),
                     [&](const Matcher& m) { return only(m.label); });
}

std::string Join(const std::set<std::string>& names, std::size_t most) {
  std::string out;
  std::size_t n = 0;
  for (const std::string& name : names) {
    if (n++ == most) return out + fmt::format(" and {} more", names.size() - most);
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

// The range as people asked for it: without the allowance for clocks at its end, unless all of it
// lies in the future.
std::string Window(store::TimeRange range) {
  const std::int64_t now = NowUnixNs();
  const std::int64_t to = range.from_ns < now ? std::min(range.to_ns, now) : range.to_ns;
  return fmt::format("between {} and {}", FormatTime(range.from_ns), FormatTime(to));
}

}  // namespace

std::int64_t TypeUse::Count(std::int64_t value, std::int64_t stored) const {
  switch (details.count_rule) {
    case profile::CountRule::kStored:
      return stored;
    case profile::CountRule::kValue:
      return value;
    case profile::CountRule::kValuePerPeriod:
      return details.period > 0 ? value / details.period : stored;
  }
  return stored;
}

const store::SeriesRow* ProfileLevel(const SeriesList& list, std::uint32_t series) {
  if (!list || series == 0 || series > list->size()) return nullptr;
  const store::SeriesRow& row = (*list)[series - 1];
  if (row.parent == 0 || row.parent > list->size()) return &row;
  return &(*list)[row.parent - 1];
}

std::string_view GroupLabel(const std::string& service, const SeriesList& list,
                            std::uint32_t series, std::string_view name) {
  if (IsServiceLabel(name)) return service;
  const bool known = list && series > 0 && series <= list->size();
  return known ? FindLabel((*list)[series - 1].labels, name) : std::string_view();
}

std::string DefaultType(const std::vector<store::TypeRow>& types) {
  for (const std::string_view wanted : {"cpu", "wall", "samples", "inuse_space"}) {
    for (const store::TypeRow& t : types) {
      if (profile::MatchType(t.details, wanted)) return std::string(wanted);
    }
  }
  std::string first;
  for (const store::TypeRow& t : types) {
    const std::string name = profile::ShortName(t.details);
    if (first.empty() || name < first) first = name;
  }
  return first;
}

TypesRead ReadAs(const std::vector<store::TypeRow>& types, const std::string& wanted) {
  TypesRead out;
  for (const store::TypeRow& t : types) {
    if (const auto match = profile::MatchType(t.details, wanted)) {
      out.uses.try_emplace(t.type, TypeUse{.multiplier = match->multiplier, .details = t.details});
      out.unit = match->unit;
    }
  }
  return out;
}

std::set<std::string> ShortNamesOf(const std::vector<store::TypeRow>& types) {
  std::set<std::string> names;
  for (const store::TypeRow& t : types) {
    names.insert(profile::ShortName(t.details));
    if (t.details.stands_for_cpu) names.insert("cpu");
  }
  return names;
}

Result<std::vector<store::TypeRow>> Catalog::TypesOf(const TypesSeen& seen,
                                                     const CancelToken& cancel) {
  std::vector<store::TypeRow> types;
  std::set<store::DictionaryKey> keys;
  for (const auto& [dictionary, type] : seen) keys.insert(dictionary);
  if (keys.empty()) return types;
  WHEREFORE_ASSIGN_OR_RETURN(types, Types({keys.begin(), keys.end()}, cancel));
  std::erase_if(types,
                [&](const store::TypeRow& t) { return !seen.contains({t.dictionary, t.type}); });
  return types;
}

void Catalog::ForgetIfChanged() {
  const std::uint64_t now = reader_.Generation();
  if (now != 0 && now == generation_) return;
  services_.clear();
  types_.clear();
  series_.clear();
  generation_ = now;
}

Result<std::vector<store::ServiceRow>> Catalog::Services(std::uint32_t tenant,
                                                         store::TimeRange range,
                                                         const CancelToken& cancel) {
  // The store answers by whole buckets, a day or more: two ranges within the same days have
  // one answer.
  const ServicesKey key = {tenant, range.from_ns / kNsPerDay, range.to_ns / kNsPerDay};
  {
    MutexLock lock(mutex_);
    ForgetIfChanged();
    if (const auto it = services_.find(key); it != services_.end()) return it->second;
  }
  const std::uint64_t before = reader_.Generation();
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<store::ServiceRow> rows,
                             reader_.Services(tenant, range, cancel));
  constexpr std::size_t kMaxRanges = 64;
  MutexLock lock(mutex_);
  if (before != 0 && before == generation_) {
    if (services_.size() >= kMaxRanges) services_.clear();
    services_[key] = rows;
  }
  return rows;
}

Result<std::vector<store::TypeRow>> Catalog::Types(
    const std::vector<store::DictionaryKey>& dictionaries, const CancelToken& cancel) {
  std::vector<store::TypeRow> out;
  std::vector<store::DictionaryKey> missing;
  {
    MutexLock lock(mutex_);
    ForgetIfChanged();
    for (const store::DictionaryKey& key : dictionaries) {
      const auto it = types_.find(key);
      if (it == types_.end()) {
        missing.push_back(key);
      } else {
        out.insert(out.end(), it->second.begin(), it->second.end());
      }
    }
  }
  if (missing.empty()) return out;
  const std::uint64_t before = reader_.Generation();
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<store::TypeRow> rows, reader_.Types(missing, cancel));
  MutexLock lock(mutex_);
  if (before != 0 && before == generation_) {
    for (const store::DictionaryKey& key : missing) types_[key];
    for (const store::TypeRow& row : rows) types_[row.dictionary].push_back(row);
  }
  out.insert(out.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  return out;
}

Result<std::vector<SeriesList>> Catalog::Series(
    const std::vector<store::DictionaryKey>& dictionaries, const CancelToken& cancel) {
  static const SeriesList kNone = std::make_shared<const std::vector<store::SeriesRow>>();
  std::vector<SeriesList> out(dictionaries.size());
  std::vector<std::size_t> missing;
  {
    MutexLock lock(mutex_);
    ForgetIfChanged();
    for (std::size_t i = 0; i < dictionaries.size(); ++i) {
      if (const auto it = series_.find(dictionaries[i]); it != series_.end()) {
        out[i] = it->second;
      } else {
        missing.push_back(i);
      }
    }
  }
  constexpr std::size_t kAtOnce = 5000;  // what they are made of is in memory beside them
  for (std::size_t first = 0; first < missing.size(); first += kAtOnce) {
    const std::span some =
        std::span(missing).subspan(first, std::min(kAtOnce, missing.size() - first));
    std::vector<store::DictionaryKey> keys;
    for (const std::size_t i : some) keys.push_back(dictionaries[i]);
    const std::uint64_t before = reader_.Generation();
    WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                               reader_.SeriesOf(keys, store::Reader::SeriesParts::kLabels, cancel));
    MutexLock lock(mutex_);
    const bool lasting = before != 0 && before == generation_;
    for (const std::size_t i : some) {
      const auto found = rows.find(dictionaries[i]);
      out[i] =
          found == rows.end()
              ? kNone
              : std::make_shared<const std::vector<store::SeriesRow>>(std::move(found->second));
      if (lasting) series_[dictionaries[i]] = out[i];
    }
  }
  return out;
}

Result<Resolved> Catalog::Resolve(const Selection& selection, const Options& options,
                                  const CancelToken& cancel) {
  if (!options.narrowed && !selection.selector.narrowing().empty()) {
    // To leave it out would answer another query, or delete far more than was asked for.
    return Error(Code::kInvalid,
                 "span_id, trace_id and profile_id select single samples: flame graphs and tables "
                 "can be narrowed by them, this cannot");
  }
  Resolved out;
  out.query.tenant = selection.tenant;
  out.query.range = selection.range;
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<store::ServiceRow> services,
                             Services(selection.tenant, selection.range, cancel));
  std::erase_if(services, [&](const store::ServiceRow& s) {
    return !selection.selector.MatchesService(s.name);
  });
  std::vector<store::DictionaryKey> dictionaries;
  dictionaries.reserve(services.size());
  for (const store::ServiceRow& s : services) dictionaries.push_back(s.dictionary);
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<store::TypeRow> types, Types(dictionaries, cancel));
  out.type = selection.type.empty() ? DefaultType(types) : selection.type;

  std::set<std::string> families;
  std::map<store::DictionaryKey, std::vector<std::uint64_t>> wanted;
  const auto take = [&](const store::TypeRow& t, std::int64_t multiplier) {
    out.types.try_emplace(t.type, TypeUse{.multiplier = multiplier, .details = t.details});
    wanted[t.dictionary].push_back(t.type);
  };
  for (const store::TypeRow& t : types) {
    const auto match = profile::MatchType(t.details, out.type);
    if (!match) continue;
    families.insert(t.details.name);
    out.unit = match->unit;
    out.snapshot = profile::IsSnapshot(t.details) && !selection.add_up_snapshots;
    if (!options.all_types_of_family) take(t, match->multiplier);
  }
  if (options.all_types_of_family) {
    for (const store::TypeRow& t : types) {
      if (families.contains(t.details.name)) take(t, 1);
    }
  }

  const bool has_matchers = !selection.selector.label_matchers().empty();
  for (const Matcher& matcher : selection.selector.label_matchers())
    out.label_matchers.push_back(matcher.label);
  std::erase_if(services,
                [&](const store::ServiceRow& s) { return !wanted.contains(s.dictionary); });
  std::vector<SeriesList> lists(services.size());
  if (has_matchers || options.with_series || !options.group_by.empty()) {
    dictionaries.clear();
    for (const store::ServiceRow& s : services) dictionaries.push_back(s.dictionary);
    WHEREFORE_ASSIGN_OR_RETURN(lists, Series(dictionaries, cancel));
  }
  for (std::size_t i = 0; i < services.size(); ++i) {
    const store::ServiceRow& s = services[i];
    store::SeriesSelection one{.dictionary = s.dictionary, .types = wanted.at(s.dictionary)};
    SeriesList list = std::move(lists[i]);
    if (has_matchers) {
      for (const store::SeriesRow& row : *list) {
        if (selection.selector.MatchesLabels(row.labels)) one.series.push_back(row.series);
      }
      if (one.series.empty()) continue;
      if (one.series.size() == list->size()) one.series.clear();
    }
    if (list) {
      out.needs_samples |= NeedsSamples(*list, selection.selector, options.group_by);
    }
    out.query.selections.push_back(std::move(one));
    out.services.push_back(s.name);
    out.series.push_back(std::move(list));
  }
  return out;
}

std::string Catalog::ExplainEmpty(const Selection& selection, const CancelToken& cancel) {
  const auto services = Services(selection.tenant, selection.range, cancel);
  if (!services) return services.error().message();
  const std::string window = Window(selection.range);
  std::set<std::string> names;
  std::vector<store::DictionaryKey> matching;
  for (const store::ServiceRow& s : *services) {
    names.insert(s.name);
    if (selection.selector.MatchesService(s.name)) matching.push_back(s.dictionary);
  }
  if (names.empty()) return fmt::format("no profiles at all {}; choose a longer time", window);
  if (matching.empty()) {
    return fmt::format("no service matches {} {}; there are: {}", selection.selector.Text(), window,
                       Join(names, 10));
  }
  const auto types = Types(matching, cancel);
  std::set<std::string> have;
  bool found = selection.type.empty();
  if (types) {
    for (const store::TypeRow& t : *types) {
      have.insert(profile::ShortName(t.details));
      if (t.details.stands_for_cpu) have.insert("cpu");
      found |= profile::MatchType(t.details, selection.type).has_value();
    }
  }
  if (!found) {
    return fmt::format("{} has no profiles of type '{}' {}; it has: {}", selection.selector.Text(),
                       selection.type, window, Join(have, 12));
  }
  std::string none =
      fmt::format("{} has data of that type, but none {}", selection.selector.Text(), window);
  if (selection.selector.label_matchers().empty()) return none;
  const auto labels = LabelNames(matching, cancel);
  if (!labels) return none + " with these labels";
  return fmt::format("{} with these labels; {}", none,
                     labels->empty() ? "there are no labels" : "there are: " + Join(*labels, 10));
}

Result<std::set<std::string>> Catalog::LabelNames(
    const std::vector<store::DictionaryKey>& dictionaries, const CancelToken& cancel) {
  std::set<std::string> names;
  WHEREFORE_ASSIGN_OR_RETURN(const auto lists, Series(dictionaries, cancel));
  for (const SeriesList& list : lists) {
    for (const store::SeriesRow& row : *list) {
      for (const auto& [name, value] : row.labels) {
        if (!IsServiceLabel(name)) names.insert(name);
      }
    }
  }
  return names;
}

}  // namespace wherefore::query
