#include "query/slow.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "query/looks.h"
#include "query/span_observations.h"
#include "query/stack_paths.h"
#include "query/statistics.h"

namespace wherefore::query {
namespace {

constexpr double kMostOfIt = 0.8;    // a callee with this part of a change is where it happens
constexpr double kSmallest = 0.005;  // of all time: smaller functions are not tested
constexpr double kFewestObservations = 10;
constexpr double kShareOfSlow = 0.05;  // an attribute's value must have of the slow requests
constexpr std::size_t kMostFunctions = 100;
constexpr std::size_t kSampleTraces = 5;
constexpr std::string_view kNameOfSpan = "span.name";  // an attribute, where no name is given

using Cell = CohortItem::Cell;

// One request of either side.
struct Request {
  store::SpanTime span;
  std::uint32_t unit = kNoSpan;
  Account account;
};

// The difference of two means in whole nanoseconds, so that parts of a sum add up to it: each gets
// what the sum up to it is more than the sum before it.
class WholeDifferences {
 public:
  WholeDifferences(std::size_t slow, std::size_t typical) : slow_(slow), typical_(typical) {}
  std::int64_t Next(__int128 of_slow, __int128 of_typical) {
    slow_sum_ += of_slow;
    typical_sum_ += of_typical;
    const auto ns = static_cast<__int128>(slow_);
    const auto nt = static_cast<__int128>(typical_);
    const auto until = static_cast<std::int64_t>((slow_sum_ * nt - typical_sum_ * ns) / (ns * nt));
    return until - std::exchange(given_, until);
  }

 private:
  std::size_t slow_;
  std::size_t typical_;
  __int128 slow_sum_ = 0;
  __int128 typical_sum_ = 0;
  std::int64_t given_ = 0;
};

class Comparer {
 public:
  Comparer(QueryContext& context, const store::SpanSearch& search, const SlowOptions& options,
           const CancelToken& cancel)
      : context_(context), search_(search), options_(options), cancel_(cancel) {
    std::string question = search.service + '\0' + search.name;
    for (const auto& [name, value] : search.attributes) question += '\0' + name + '=' + value;
    seed_ = Hash64(question);
  }

  Result<SlowAnswer> Run() {
    WHEREFORE_RETURN_IF_ERROR(ChooseRequests());
    if (!out_.note.empty()) return std::move(out_);
    WHEREFORE_RETURN_IF_ERROR(Observe());
    if (!out_.note.empty()) return std::move(out_);
    CompareParts();
    WHEREFORE_RETURN_IF_ERROR(CompareFunctions());
    WHEREFORE_RETURN_IF_ERROR(CompareAttributes());
    FindCauses();
    ChooseTraces();
    return std::move(out_);
  }

 private:
  // The newest spans that match; `more`: there are others.
  Result<std::vector<store::SpanTime>> Newest(store::SpanSearch search) {
    search.limit = kMostCompared + 1;
    search.requests_only = search.name.empty();
    WHEREFORE_ASSIGN_OR_RETURN(auto found, context_.reader.FindSpans(search, cancel_));
    if (found.size() > kMostCompared) {
      out_.more = true;
      found.resize(kMostCompared);
    }
    return found;
  }

  // Those of a box are asked for by themselves: they need not be among the newest.
  Result<std::vector<store::SpanTime>> Candidates() {
    WHEREFORE_ASSIGN_OR_RETURN(auto found, Newest(search_));
    if (!options_.box) return found;
    const SlowOptions::Box& box = *options_.box;
    std::erase_if(found, [&](const store::SpanTime& span) { return box.Has(span); });
    store::SpanSearch inside = search_;
    inside.range = {std::max(box.range.from_ns, search_.range.from_ns),
                    std::min(box.range.to_ns, search_.range.to_ns)};
    inside.min_duration_ns = box.least_ns;
    inside.max_duration_ns = box.most_ns;
    WHEREFORE_ASSIGN_OR_RETURN(const auto of_box, Newest(inside));
    found.insert(found.end(), of_box.begin(), of_box.end());
    return found;
  }

  Result<> ChooseRequests() {
    WHEREFORE_ASSIGN_OR_RETURN(auto found, Candidates());
    out_.requests = found.size();
    if (found.empty()) {
      out_.note = "no span matches in that time";
      return {};
    }
    std::vector<std::int64_t> durations;
    for (const store::SpanTime& span : found) durations.push_back(span.duration_ns);
    std::ranges::sort(durations);
    const auto at = [&](double quantile) {
      const auto last = static_cast<double>(durations.size() - 1);
      return durations[static_cast<std::size_t>(std::llround(quantile * last))];
    };
    out_.median_ns = at(0.5);
    const auto& box = options_.box;
    out_.slow_from_ns = box ? box->least_ns : at(options_.slow_from);
    out_.typical_from_ns = box ? durations.front() : at(options_.typical_from);
    out_.typical_to_ns = box ? durations.back() : at(options_.typical_to);
    for (store::SpanTime& span : found) {
      const bool inside = box && box->Has(span);
      const bool typical =
          box ? !inside
              : span.duration_ns >= out_.typical_from_ns && span.duration_ns <= out_.typical_to_ns;
      const bool slow = box ? inside : span.duration_ns >= out_.slow_from_ns && !typical;
      if (!slow && !typical) continue;
      requests_.push_back({.span = span});
      is_slow_.push_back(slow ? 1 : 0);
      ++(slow ? out_.slow : out_.typical);
    }
    if (out_.slow < kFewestSlow || out_.typical < kFewestTypical) {
      out_.note = fmt::format(
          "{} {} and {} {} requests of {}: at least {} and {} are needed to tell them apart",
          out_.slow, box ? "selected" : "slow", out_.typical, box ? "other" : "typical",
          out_.requests, kFewestSlow, kFewestTypical);
    }
    return {};
  }

  Result<> Observe() {
    std::set<profile::TraceId> traces;
    for (const Request& r : requests_) traces.insert(r.span.trace);
    WHEREFORE_ASSIGN_OR_RETURN(
        seen_, ObserveSpans(context_, search_.tenant, {traces.begin(), traces.end()}, cancel_));
    for (const ServiceFacts& facts : seen_.services) {
      if (facts.service != search_.service || !facts.reduced) continue;
      out_.note = fmt::format(
          "links of {} were thinned: those that were kept are of slow requests (attribute "
          "wherefore.profile.reduced), so what typical ones did is not known. Send all links "
          "(conditional profiling off) and ask again",
          facts.service);
      return {};
    }
    std::map<SpanKey, std::uint32_t> places;
    for (std::uint32_t i = 0; i < seen_.spans.size(); ++i)
      places.emplace(SpanKey(seen_.spans[i].trace, seen_.spans[i].id), i);
    request_of_.assign(seen_.spans.size(), kNoSpan);
    for (std::uint32_t r = 0; r < requests_.size(); ++r) {
      const auto found = places.find({requests_[r].span.trace, requests_[r].span.id});
      if (found == places.end()) continue;  // deleted meanwhile
      const std::uint32_t unit = seen_.unit[found->second];
      if (unit != found->second) out_.filed_under = seen_.spans[unit].name;
      requests_[r].unit = unit;
      requests_[r].account = AccountOf(seen_.figures[unit]);
      request_of_[unit] = r;
    }
    return {};
  }

  // Parts, and the children by name.
  void CompareParts() {
    std::vector<CohortItem> items(kParts);
    WholeDifferences whole(out_.slow, out_.typical);
    for (std::uint32_t r = 0; r < requests_.size(); ++r) {
      const Account& account = requests_[r].account;
      for (std::size_t p = 0; p < kParts; ++p) {
        if (account.parts[p].value != 0)
          items[p].cells.push_back({r, static_cast<double>(account.parts[p].value)});
      }
      const auto duration = static_cast<double>(account.duration_ns);
      (is_slow_[r] != 0 ? out_.mean_slow_ns : out_.mean_typical_ns) += duration;
    }
    out_.mean_slow_ns /= static_cast<double>(out_.slow);
    out_.mean_typical_ns /= static_cast<double>(out_.typical);
    const std::vector<std::pair<std::string, std::string>> names = AddChildren(items);
    const std::vector<CohortTest> tests = TestCohorts(is_slow_, items, seed_);
    WholeDifferences of_children = whole;
    for (std::size_t i = 0; i < items.size(); ++i) {
      // Children go on from what came before their part, so that they add up to it.
      if (i == static_cast<std::size_t>(Part::kChildren)) of_children = whole;
      __int128 slow = 0;
      __int128 typical = 0;
      for (const Cell& cell : items[i].cells)
        (is_slow_[cell.request] != 0 ? slow : typical) += std::llround(cell.value);
      SlowRow row{.part = i < kParts ? static_cast<Part>(i) : Part::kChildren, .test = tests[i]};
      if (i >= kParts) std::tie(row.service, row.name) = names[i - kParts];
      row.change_ns = (i < kParts ? whole : of_children).Next(slow, typical);
      if (i < kParts) out_.gap_ns += row.change_ns;
      (i < kParts ? out_.parts : out_.children).push_back(std::move(row));
    }
  }

  // Adds an item for each name of children; their time at once counts for the one that began first.
  std::vector<std::pair<std::string, std::string>> AddChildren(std::vector<CohortItem>& items) {
    using Name = std::pair<std::string, std::string>;
    std::map<Name, std::map<std::uint32_t, double>> by_name;
    for (const SpanObservations::ChildTime& c : seen_.children) {
      const std::uint32_t request = request_of_[c.unit];
      if (request == kNoSpan) continue;
      const store::SpanRow& child = seen_.spans[c.child];
      by_name[{child.service_name, child.name}][request] += static_cast<double>(c.time_ns);
    }
    std::vector<Name> names;
    for (const auto& [name, values] : by_name) {
      names.push_back(name);
      CohortItem& item = items.emplace_back();
      for (const auto& [of, value] : values) item.cells.push_back({of, value});
    }
    return names;
  }

  // Of each part that differs: its functions, with their callees.
  Result<> CompareFunctions() {
    std::map<store::DictionaryKey, std::vector<StackValue>> stacks;
    std::vector<std::pair<std::size_t, std::size_t>> places(seen_.samples.size());
    std::map<store::DictionaryKey, std::unordered_map<std::uint32_t, std::size_t>> known;
    for (std::size_t s = 0; s < seen_.samples.size(); ++s) {
      const SpanObservations::Sample& sample = seen_.samples[s];
      if (request_of_[sample.unit] == kNoSpan) continue;
      auto& list = stacks[sample.dictionary];
      const auto [at, fresh] = known[sample.dictionary].try_emplace(sample.stack, list.size());
      if (fresh) list.push_back({.stack = sample.stack});
      places[s].second = at->second;
    }
    std::vector<StackTries::Values> values;
    std::map<store::DictionaryKey, std::size_t> lists;
    for (const auto& [key, list] : stacks) {
      lists[key] = values.size();
      values.push_back({key, list});
    }
    WHEREFORE_ASSIGN_OR_RETURN(paths_, context_.tries.PathsOf(values, cancel_));
    for (std::size_t s = 0; s < seen_.samples.size(); ++s) {
      const SpanObservations::Sample& sample = seen_.samples[s];
      if (request_of_[sample.unit] != kNoSpan) places[s].first = lists[sample.dictionary];
    }
    for (std::size_t p = 0; p < kParts; ++p) {
      if (out_.parts[p].test.q <= kSignificant) TestFunctionsOf(static_cast<Part>(p), places);
    }
    std::ranges::stable_sort(out_.functions, std::greater(),
                             [](const SlowRow& row) { return std::abs(row.test.change); });
    return {};
  }

  struct OfFunction {
    CohortItem item;
    double observations = 0;
    double value = 0;
    double depth = 0;  // sum of value x depth
  };

  void TestFunctionsOf(Part part, const std::vector<std::pair<std::size_t, std::size_t>>& places) {
    std::vector<OfFunction> functions(paths_.functions.size());
    std::vector<std::uint32_t> path;
    std::vector<double> sums(requests_.size());  // of this part's samples, by request
    const auto counts = [&](const SpanObservations::Sample& s) {
      const std::uint32_t r = request_of_[s.unit];
      return r != kNoSpan && s.part == part &&
             (!s.lock_look || requests_[r].account.lock_looks_counted);
    };
    for (const SpanObservations::Sample& s : seen_.samples)
      if (counts(s)) sums[request_of_[s.unit]] += static_cast<double>(s.value);
    double all = 0;
    for (const Request& r : requests_) all += static_cast<double>(r.account.duration_ns);
    for (std::size_t i = 0; i < seen_.samples.size(); ++i) {
      const SpanObservations::Sample& s = seen_.samples[i];
      if (!counts(s)) continue;
      const std::uint32_t r = request_of_[s.unit];
      // Samples say how a part is divided; how large it is the account says.
      const double value = sums[r] > 0 ? static_cast<double>(s.value) / sums[r] *
                                             static_cast<double>(requests_[r].account[part].value)
                                       : 0;
      path.clear();
      for (std::uint32_t n = paths_.ends[places[i].first][places[i].second]; n != 0;
           n = paths_.nodes[n].parent)
        path.push_back(paths_.nodes[n].function);
      std::size_t depth = path.size();
      for (std::size_t k = 0; k < path.size(); ++k, --depth) {
        // Recursion counts once, at its innermost call.
        if (std::find(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(k), path[k]) !=
            path.begin() + static_cast<std::ptrdiff_t>(k))
          continue;
        OfFunction& of = functions[path[k]];
        of.observations += static_cast<double>(s.count);
        of.value += value;
        of.depth += value * static_cast<double>(depth);
        if (of.item.cells.empty() || of.item.cells.back().request != r)
          of.item.cells.push_back({r, 0});
        of.item.cells.back().value += value;
      }
    }
    std::vector<CohortItem> items;
    std::vector<std::uint32_t> tested;
    for (std::uint32_t f = 0; f < functions.size(); ++f) {
      OfFunction& of = functions[f];
      if (of.observations < kFewestObservations || of.value < kSmallest * all) continue;
      tested.push_back(f);
      items.push_back(std::move(of.item));
    }
    const std::vector<CohortTest> tests = TestCohorts(is_slow_, items, seed_ + 1);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const OfFunction& of = functions[tested[i]];
      depth_[{part, tested[i]}] = of.value > 0 ? of.depth / of.value : 0;
      out_.functions.push_back(
          {.part = part, .function = paths_.functions[tested[i]], .test = tests[i]});
      number_.push_back(tested[i]);
    }
    // Rows and their numbers are sorted apart: the deepest are looked for before.
    DescendInto(part);
  }

  // The deepest function with most of the part's change.
  void DescendInto(Part part) {
    const CohortTest& whole = out_.parts[static_cast<std::size_t>(part)].test;
    std::optional<std::size_t> deepest;
    for (std::size_t i = 0; i < out_.functions.size(); ++i) {
      const SlowRow& row = out_.functions[i];
      if (row.part != part || row.test.q > kSignificant) continue;
      if (row.test.change * whole.change <= 0) continue;
      if (std::abs(row.test.change) < kMostOfIt * std::abs(whole.change)) continue;
      if (!deepest || depth_[{part, number_[i]}] > depth_[{part, number_[*deepest]}]) deepest = i;
    }
    if (deepest) cause_[part] = out_.functions[*deepest];
  }

  Result<> CompareAttributes() {
    std::vector<profile::SpanId> ids;
    std::map<SpanKey, std::uint32_t> of_span;
    store::TimeRange range{.from_ns = INT64_MAX, .to_ns = INT64_MIN};
    for (std::uint32_t r = 0; r < requests_.size(); ++r) {
      const store::SpanTime& span = requests_[r].span;
      ids.push_back(span.id);
      of_span[{span.trace, span.id}] = r;
      range.from_ns = std::min(range.from_ns, span.start_ns);
      range.to_ns = std::max(range.to_ns, span.start_ns + 1);
    }
    WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                               context_.reader.SpansById(search_.tenant, range, ids, cancel_));
    using Attribute = std::pair<std::string, std::string>;
    std::map<Attribute, std::set<std::uint32_t>> having;
    std::map<std::string, std::set<std::string>> values;
    std::map<std::string, std::size_t> spans_with;
    for (const store::SpanRow& span : spans) {
      const auto found = of_span.find({span.trace, span.id});
      if (found == of_span.end()) continue;
      if (const std::string name(kNameOfSpan);
          search_.name.empty() && having[{name, span.name}].insert(found->second).second) {
        values[name].insert(span.name);
        ++spans_with[name];
      }
      for (const auto* pairs : {&span.attributes, &span.resource}) {
        for (const auto& [name, value] : *pairs) {
          if (std::ranges::find(store::kTimingAttributes, name) != store::kTimingAttributes.end())
            continue;
          if (!having[{name, value}].insert(found->second).second) continue;
          values[name].insert(value);
          ++spans_with[name];
        }
      }
    }
    std::vector<CohortItem> items;
    std::vector<Attribute> tested;
    for (const auto& [attribute, requests] : having) {
      // Ids and times are different in each request and say nothing about them together.
      if (2 * values[attribute.first].size() > spans_with[attribute.first]) continue;
      const auto slow =
          std::ranges::count_if(requests, [&](std::uint32_t r) { return is_slow_[r] != 0; });
      if (static_cast<double>(slow) < kShareOfSlow * static_cast<double>(out_.slow)) continue;
      if (requests.size() == requests_.size()) continue;
      tested.push_back(attribute);
      CohortItem& item = items.emplace_back();
      for (const std::uint32_t r : requests) item.cells.push_back({r, 1});
    }
    const std::vector<CohortTest> tests = TestCohorts(is_slow_, items, seed_ + 2);
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (tests[i].q <= kSignificant)
        out_.attributes.push_back({tested[i].first, tested[i].second, tests[i]});
    }
    std::ranges::stable_sort(out_.attributes, std::greater(),
                             [](const SlowAttribute& a) { return std::abs(a.test.change); });
    return {};
  }

  // Parts that surely differ, each as far down as it is known.
  void FindCauses() {
    for (std::size_t p = 0; p < kParts; ++p) {
      const SlowRow& row = out_.parts[p];
      if (row.test.q > kSignificant) continue;
      const auto part = static_cast<Part>(p);
      if (part == Part::kChildren) {
        bool named = false;
        for (const SlowRow& child : out_.children) {
          if (child.test.q > kSignificant || child.test.change * row.test.change <= 0) continue;
          out_.causes.push_back(child);
          named = true;
        }
        if (named) continue;
      }
      const auto found = cause_.find(part);
      out_.causes.push_back(found == cause_.end() ? row : found->second);
    }
    // What nobody saw explains nothing: it comes last.
    std::ranges::stable_sort(out_.causes, std::greater(), [](const SlowRow& row) {
      return std::pair(row.part != Part::kUnobserved, std::abs(row.test.change));
    });
    if (out_.functions.size() > kMostFunctions) out_.functions.resize(kMostFunctions);
  }

  // Those whose durations are nearest to the mean of their side.
  void ChooseTraces() {
    for (const bool slow : {true, false}) {
      std::vector<std::pair<double, profile::TraceId>> near;
      const double mean = slow ? out_.mean_slow_ns : out_.mean_typical_ns;
      for (std::size_t r = 0; r < requests_.size(); ++r) {
        if ((is_slow_[r] != 0) != slow) continue;
        near.emplace_back(std::abs(static_cast<double>(requests_[r].span.duration_ns) - mean),
                          requests_[r].span.trace);
      }
      std::ranges::sort(near);
      auto& traces = slow ? out_.slow_traces : out_.typical_traces;
      for (std::size_t i = 0; i < near.size() && i < kSampleTraces; ++i)
        traces.push_back(near[i].second);
    }
  }

  QueryContext& context_;
  const store::SpanSearch& search_;
  const SlowOptions& options_;
  const CancelToken& cancel_;
  std::uint64_t seed_ = 0;
  SlowAnswer out_;
  std::vector<Request> requests_;
  std::vector<char> is_slow_;  // of each request
  SpanObservations seen_;
  std::vector<std::uint32_t> request_of_;  // by unit
  StackPaths paths_;
  std::vector<std::uint32_t> number_;  // of the functions, in the order they were tested
  std::map<std::pair<Part, std::uint32_t>, double> depth_;
  std::map<Part, SlowRow> cause_;
};

}  // namespace

Result<SlowAnswer> SlowVersusTypical(QueryContext& context, const store::SpanSearch& search,
                                     const SlowOptions& options, const CancelToken& cancel) {
  return Comparer(context, search, options, cancel).Run();
}

Result<double> ParseQuantile(std::string_view text) {
  double number = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (text.starts_with('p') ? 1 : 0), end, number);
  if (!text.starts_with('p') || read.ec != std::errc() || read.ptr != end ||
      !(number >= 0 && number <= 100))
    return Error(Code::kInvalid, fmt::format("'{}' is not a percentile like p95", text));
  return number / 100;
}

Result<std::pair<double, double>> ParseQuantiles(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos)
    return Error(Code::kInvalid, fmt::format("'{}' is not a range like p40-p60", text));
  WHEREFORE_ASSIGN_OR_RETURN(const double from, ParseQuantile(text.substr(0, dash)));
  WHEREFORE_ASSIGN_OR_RETURN(const double to, ParseQuantile(text.substr(dash + 1)));
  if (from > to) return Error(Code::kInvalid, fmt::format("'{}' ends before it begins", text));
  return std::pair(from, to);
}

}  // namespace wherefore::query
