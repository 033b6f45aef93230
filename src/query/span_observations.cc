#include "query/span_observations.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "profile/reduced.h"
#include "query/local_roots.h"
#include "query/sample_groups.h"
#include "query/why_no_samples.h"

namespace wherefore::query {
namespace {

constexpr std::uint8_t kServer = 2;
constexpr std::uint8_t kClient = 3;
constexpr std::uint8_t kProducer = 4;
// A profile begins up to its own length before the spans it has samples of.
constexpr std::int64_t kAround = 120 * kNsPerSecond;
// A span may not lie further out: sums of times must fit into 64 bits.
constexpr std::int64_t kFarthestNs = INT64_MAX / 4;

// What samples of a type say about a span.
enum class Tells : std::uint8_t {
  kNothing,
  kCpu,
  kWall,
  kOffCpu,
  kWaits,        // for locks and threads, by the label wait.kind
  kLockWaits,    // for locks: Java's waiters
  kThreadWaits,  // for other threads: Java's
  kHolding,      // how long others waited for a lock it held
};

Tells WhatItTells(const profile::ProfileType& type) {
  if (profile::MatchType(type, "cpu")) return Tells::kCpu;
  if (type.sample_unit != "nanoseconds") return Tells::kNothing;
  if (type.sample_type == "wall") return Tells::kWall;
  if (type.sample_type == "off_cpu") return Tells::kOffCpu;
  if (type.sample_type != "delay") return Tells::kNothing;
  // Go and C++ count contentions; Java names what was waited for.
  if (type.name == "mutex")
    return type.period_type == "mutex" ? Tells::kLockWaits : Tells::kHolding;
  if (type.name == "block")
    return type.period_type == "block" ? Tells::kThreadWaits : Tells::kWaits;
  return Tells::kNothing;
}

enum class WaitKind : std::uint8_t { kUnknown, kLock, kThread, kIo, kSleep };

WaitKind WaitKindOf(std::string_view label) {
  if (label == "lock" || label == "mutex" || label == "rwlock") return WaitKind::kLock;
  if (label == "condition" || label == "semaphore") return WaitKind::kThread;
  if (label == "io") return WaitKind::kIo;
  return label == "sleep" ? WaitKind::kSleep : WaitKind::kUnknown;
}

std::string_view LabelOf(const Labels& labels, std::string_view name) {
  const auto at = std::ranges::find(
      labels, name, [](const auto& label) -> std::string_view { return label.first; });
  return at == labels.end() ? std::string_view() : std::string_view(at->second);
}

// What a label set says about whoever sent it.
struct SeriesFacts {
  WaitKind wait = WaitKind::kUnknown;
  bool ours = false;
  bool root_only = false;
};

SeriesFacts FactsOf(const Labels& labels) {
  const std::string_view scope = LabelOf(labels, "otel.scope.name");
  return {.wait = WaitKindOf(LabelOf(labels, "wait.kind")),
          .ours = LabelOf(labels, "telemetry.sdk.name") == "wherefore",
          .root_only =
              scope.ends_with("/go") || scope.ends_with("/python") || scope.ends_with("/java")};
}

class AllSeries {
 public:
  Result<> Read(QueryContext& context, const std::set<store::DictionaryKey>& keys,
                const CancelToken& cancel) {
    const std::vector<store::DictionaryKey> wanted(keys.begin(), keys.end());
    WHEREFORE_ASSIGN_OR_RETURN(const auto lists, context.catalog.Series(wanted, cancel));
    for (std::size_t i = 0; i < wanted.size(); ++i) lists_[wanted[i]] = lists[i];
    return {};
  }
  SeriesFacts Find(const store::DictionaryKey& key, std::uint32_t series) {
    const auto [at, fresh] = known_.try_emplace({key, series});
    if (!fresh) return at->second;
    const auto list = lists_.find(key);
    if (list != lists_.end() && list->second != nullptr && series >= 1 &&
        series <= list->second->size())
      at->second = FactsOf((*list->second)[series - 1].labels);
    return at->second;
  }

 private:
  std::map<store::DictionaryKey, SeriesList> lists_;
  std::map<std::pair<store::DictionaryKey, std::uint32_t>, SeriesFacts> known_;
};

struct StoredType {
  Tells tells = Tells::kNothing;
  TypeUse use;
};
using StoredTypes = std::map<std::pair<store::DictionaryKey, std::uint64_t>, StoredType>;

StoredTypes Describe(const std::vector<store::TypeRow>& rows) {
  StoredTypes types;
  for (const store::TypeRow& row : rows) {
    StoredType& type = types[{row.dictionary, row.type}];
    type.tells = WhatItTells(row.details);
    type.use.details = row.details;
    if (type.tells != Tells::kCpu) continue;
    if (const auto match = profile::MatchType(row.details, "cpu"))
      type.use.multiplier = match->multiplier;
  }
  return types;
}

// What samples of one unit add up to, before it is decided what counts.
struct Raw {
  Seen cpu, wall, io, sleep, other, lock_looks, block_io, lock, thread;
  Source waits_from = Source::kNone;
  bool off_cpu = false;
};

struct SpanHash {
  std::size_t operator()(const std::pair<profile::TraceId, profile::SpanId>& key) const {
    const auto* bytes = key.first.data();
    const std::uint64_t trace = HashBytes(bytes, key.first.size()).low;
    return HashBytes(key.second.data(), key.second.size(), trace).low;
  }
};

class Observer {
 public:
  Observer(QueryContext& context, std::uint32_t tenant, const CancelToken& cancel)
      : context_(context), tenant_(tenant), cancel_(cancel) {}

  Result<SpanObservations> Run(const std::vector<profile::TraceId>& traces) {
    WHEREFORE_ASSIGN_OR_RETURN(out_.spans,
                               context_.reader.ShapesOfTraces(tenant_, traces, cancel_));
    if (out_.spans.empty()) return std::move(out_);
    WHEREFORE_ASSIGN_OR_RETURN(links_, context_.reader.LinksOfTraces(tenant_, traces, cancel_));
    NumberSpans();
    WHEREFORE_RETURN_IF_ERROR(ReadFacts());
    FindOwners();
    if (traces.size() == 1) WHEREFORE_RETURN_IF_ERROR(LookFurtherForLinks());
    FindUnits();
    AddTimes();
    AddSamples();
    FinishFigures();
    return std::move(out_);
  }

 private:
  std::size_t size() const { return out_.spans.size(); }

  void NumberSpans() {
    std::unordered_map<std::uint64_t, std::uint32_t> services;
    out_.parent.assign(size(), kNoSpan);
    place_.resize(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
      store::SpanRow& span = out_.spans[i];
      span.start_ns = std::clamp(span.start_ns, -kFarthestNs, kFarthestNs);
      span.duration_ns = std::clamp<std::int64_t>(span.duration_ns, 0, kFarthestNs);
      by_id_.try_emplace({span.trace, span.id}, i);
      by_span_only_.try_emplace(span.id, i);
      const auto [service, fresh] =
          services.try_emplace(span.service, static_cast<std::uint32_t>(out_.services.size()));
      if (fresh) out_.services.push_back({.service = span.service_name});
      out_.service.push_back(service->second);
      place_[i] = Hash64(span.service_name) ^ Hash64(InstanceOf(span.resource)) * 31;
    }
    for (std::uint32_t i = 0; i < size(); ++i) {
      const auto parent = by_id_.find({out_.spans[i].trace, out_.spans[i].parent});
      if (parent != by_id_.end() && parent->second != i) out_.parent[i] = parent->second;
      // An id that is nobody's own: what is filed there is of the span that names it.
      const auto filed = ProfileIdOf(out_.spans[i]);
      if (!filed) continue;
      names_holder_ = true;
      by_span_only_.try_emplace(*filed, i);
      by_id_.try_emplace({out_.spans[i].trace, *filed}, i);
    }
    CorrectClocks();
  }

  // As on the critical path: a server's span whose clock is another one is moved.
  void CorrectClocks() {
    for (std::size_t begin = 0; begin < size();) {
      std::size_t end = begin;
      bool outside = false;
      while (end < size() && out_.spans[end].trace == out_.spans[begin].trace) {
        const std::uint32_t p = out_.parent[end];
        if (p != kNoSpan && out_.spans[end].kind == kServer && out_.spans[p].kind == kClient) {
          const store::SpanRow& server = out_.spans[end];
          const store::SpanRow& client = out_.spans[p];
          outside = outside || server.start_ns < client.start_ns ||
                    server.start_ns + server.duration_ns > client.start_ns + client.duration_ns;
        }
        ++end;
      }
      if (outside) {
        const CriticalPath path =
            FindCriticalPath(std::span(out_.spans).subspan(begin, end - begin));
        for (std::size_t i = begin; i < end; ++i)
          out_.spans[i].start_ns += path.moved_ns[i - begin];
      }
      begin = end;
    }
  }

  // What the services sent around that time.
  Result<> ReadFacts() {
    std::int64_t from = INT64_MAX;
    std::int64_t to = INT64_MIN;
    for (const store::SpanRow& span : out_.spans) {
      from = std::min(from, span.start_ns);
      to = std::max(to, span.start_ns + span.duration_ns);
    }
    query_ = {.tenant = tenant_, .range = {.from_ns = from - kAround, .to_ns = to + kAround}};
    std::map<std::string, std::uint32_t> wanted;
    for (std::uint32_t s = 0; s < out_.services.size(); ++s) wanted[out_.services[s].service] = s;
    WHEREFORE_ASSIGN_OR_RETURN(const auto services,
                               context_.catalog.Services(tenant_, query_.range, cancel_));
    std::set<store::DictionaryKey> keys;
    std::vector<std::uint32_t> of_selection;
    for (const store::ServiceRow& row : services) {
      const auto found = wanted.find(row.name);
      if (found == wanted.end() || !keys.insert(row.dictionary).second) continue;
      query_.selections.push_back({.dictionary = row.dictionary});
      of_selection.push_back(found->second);
    }
    for (const store::LinkRow& link : links_) keys.insert(link.dictionary);
    WHEREFORE_ASSIGN_OR_RETURN(const auto types,
                               context_.catalog.Types({keys.begin(), keys.end()}, cancel_));
    types_ = Describe(types);
    WHEREFORE_RETURN_IF_ERROR(series_.Read(context_, keys, cancel_));
    if (query_.selections.empty()) return {};
    WHEREFORE_ASSIGN_OR_RETURN(const auto profiles, context_.reader.ProfileTotals(query_, cancel_));
    std::vector<Seen> looks(out_.services.size());
    std::vector<Seen> wall(out_.services.size());
    WHEREFORE_ASSIGN_OR_RETURN(const auto reduced, context_.reader.DictionariesWith(
                                                       query_, profile::kReducedKey, cancel_));
    for (std::size_t i = 0; i < query_.selections.size(); ++i) {
      if (reduced.contains(query_.selections[i].dictionary))
        out_.services[of_selection[i]].reduced = true;
    }
    for (const store::ProfileSum& profile : profiles)
      AddProfile(profile, of_selection[profile.dictionary], looks, wall);
    for (std::size_t s = 0; s < out_.services.size(); ++s) {
      const Seen& seen = looks[s].observations > 0 || out_.services[s].ours ? looks[s] : wall[s];
      if (seen.observations > 0)
        out_.services[s].look_ns =
            static_cast<double>(seen.value) / static_cast<double>(seen.observations);
    }
    return {};
  }

  void AddProfile(const store::ProfileSum& profile, std::uint32_t service, std::vector<Seen>& looks,
                  std::vector<Seen>& wall) {
    ServiceFacts& facts = out_.services[service];
    ++facts.profiles;
    facts.newest_ns = std::max(facts.newest_ns, profile.time_ns + profile.duration_ns);
    const store::DictionaryKey& key = query_.selections[profile.dictionary].dictionary;
    const SeriesFacts sender = series_.Find(key, profile.series);
    facts.ours = facts.ours || sender.ours;
    facts.root_only = facts.root_only || sender.root_only;
    const auto type = types_.find({key, profile.type});
    if (type == types_.end()) return;
    const TypeUse& use = type->second.use;
    const std::int64_t count = use.Count(profile.value, profile.count);
    switch (type->second.tells) {
      case Tells::kCpu: {
        const bool in_ns = use.details.period_unit == "nanoseconds" && use.details.period > 0;
        const std::int64_t distance =
            in_ns ? use.details.period
                  : use.Value(profile.value) / std::max<std::int64_t>(count, 1);
        facts.cpu_distance_ns = std::max(facts.cpu_distance_ns, distance);
        break;
      }
      case Tells::kOffCpu:
        looks[service].Add(profile.value, count);
        break;
      case Tells::kWall:
        wall[service].Add(profile.value, count);
        break;
      case Tells::kWaits:  // Go's name no span and not what was waited for
        facts.measures_locks =
            facts.measures_locks || sender.ours || sender.wait != WaitKind::kUnknown;
        break;
      case Tells::kLockWaits:
      case Tells::kThreadWaits:
        facts.measures_locks = true;
        break;
      default:
        break;
    }
  }

  // Which span each link belongs to, and which services file whole requests under their roots.
  void FindOwners() {
    std::set<profile::SpanId> with_samples;
    owner_.reserve(links_.size());
    for (const store::LinkRow& link : links_) {
      std::uint32_t owner = kNoSpan;
      if (link.trace == profile::TraceId{}) {
        const auto found = by_span_only_.find(link.span);
        if (found != by_span_only_.end()) owner = found->second;
      } else {
        const auto found = by_id_.find({link.trace, link.span});
        if (found != by_id_.end()) owner = found->second;
      }
      owner_.push_back(owner);
      if (owner == kNoSpan) continue;
      with_samples.insert(out_.spans[owner].id);
      ServiceFacts& facts = out_.services[out_.service[owner]];
      ++facts.links;
      const SeriesFacts sender = series_.Find(link.dictionary, link.series);
      facts.ours = facts.ours || sender.ours;
      facts.root_only = facts.root_only || sender.root_only;
    }
    if (names_holder_) {
      for (std::size_t i = 0; i < size(); ++i)
        if (ProfileIdOf(out_.spans[i])) out_.services[out_.service[i]].root_only = true;
    }
    std::set<std::uint64_t> inner;
    if (std::ranges::any_of(out_.services, &ServiceFacts::root_only))
      inner = ServicesThatLinkInnerSpans(out_.spans, with_samples);
    for (ServiceFacts& facts : out_.services)
      if (facts.ours || inner.contains(Hash64(facts.service))) facts.root_only = false;
  }

  // None in one trace does not mean that a profiler does not link spans.
  Result<> LookFurtherForLinks() {
    constexpr std::size_t kMostAsked = 20;
    store::SampleQuery query = query_;
    std::erase_if(query.selections, [&](const store::SeriesSelection& s) {
      const auto facts = std::ranges::find_if(out_.services, [&](const ServiceFacts& f) {
        return Hash64(f.service) == s.dictionary.service;
      });
      return facts == out_.services.end() || facts->links > 0;
    });
    if (query.selections.empty() || query.selections.size() > kMostAsked) return {};
    WHEREFORE_ASSIGN_OR_RETURN(const auto links, context_.reader.Links(query, {}, cancel_));
    for (const store::LinkRow& link : links) {
      for (ServiceFacts& facts : out_.services)
        if (Hash64(facts.service) == link.dictionary.service) ++facts.links;
    }
    return {};
  }

  void FindUnits() {
    out_.unit.assign(size(), kNoSpan);
    std::vector<std::uint32_t> seen(size());  // on the way up from this span, plus one
    std::vector<std::uint32_t> path;
    for (std::uint32_t i = 0; i < size(); ++i) {
      path.clear();
      std::uint32_t at = i;
      while (out_.unit[at] == kNoSpan) {
        path.push_back(at);
        seen[at] = i + 1;
        const std::uint32_t up = out_.parent[at];
        const bool shares = out_.services[out_.service[at]].root_only && up != kNoSpan &&
                            place_[up] == place_[at] && seen[up] != i + 1;
        if (!shares) {
          out_.unit[at] = at;
          break;
        }
        at = up;
      }
      for (const std::uint32_t span : path) out_.unit[span] = out_.unit[at];
    }
  }

  void AddTimes() {
    struct Interval {
      std::uint32_t unit;
      std::int64_t from;
      std::int64_t to;
      std::uint32_t child;
    };
    out_.figures.resize(size());
    std::vector<Interval> intervals;
    for (std::uint32_t i = 0; i < size(); ++i) {
      const store::SpanRow& span = out_.spans[i];
      out_.figures[i].duration_ns = std::max<std::int64_t>(span.duration_ns, 0);
      const std::uint32_t parent = out_.parent[i];
      const bool elsewhere = parent != kNoSpan && out_.unit[parent] != out_.unit[i];
      const std::uint32_t unit = out_.unit[elsewhere ? parent : i];
      // Calls of a request to elsewhere, whose other side may not be stored.
      const bool call = span.kind == kClient || span.kind == kProducer;
      if (!elsewhere && (!call || unit == i)) continue;
      const store::SpanRow& around = out_.spans[unit];
      const std::int64_t from = std::max(span.start_ns, around.start_ns);
      const std::int64_t to =
          std::min(span.start_ns + span.duration_ns, around.start_ns + around.duration_ns);
      ++out_.figures[unit].child_spans;
      if (to > from) intervals.push_back({unit, from, to, i});
    }
    std::ranges::sort(intervals, {},
                      [](const Interval& c) { return std::tuple(c.unit, c.from, c.child); });
    std::uint32_t unit = kNoSpan;
    std::int64_t until = 0;
    for (const Interval& c : intervals) {
      if (c.unit != unit) until = c.from;
      unit = c.unit;
      const std::int64_t fresh = c.to - std::max(c.from, until);
      until = std::max(until, c.to);
      if (fresh <= 0) continue;
      out_.figures[unit].children_ns += fresh;
      out_.children.push_back({unit, c.child, fresh});
    }
    ReadClocks();
  }

  // A span's thread had this much CPU time; children on the same thread had their part of it.
  void ReadClocks() {
    struct Clock {
      std::optional<std::int64_t> cpu_ns;
      std::string_view thread;
    };
    std::vector<Clock> clocks(size());
    bool any = false;
    for (std::size_t i = 0; i < size(); ++i) {
      for (const auto& [key, value] : out_.spans[i].attributes) {
        if (key == "thread.id") clocks[i].thread = value;
        if (key != "wherefore.span.cpu_ns") continue;
        if (const auto number = ParseInt(value); number && *number >= 0) clocks[i].cpu_ns = *number;
      }
      out_.figures[i].cpu_clock_ns = clocks[i].cpu_ns;
      any = any || clocks[i].cpu_ns;
    }
    if (!any) return;
    std::vector<char> unknown(size());
    for (std::size_t i = 0; i < size(); ++i) {
      const std::uint32_t p = out_.parent[i];
      if (p == kNoSpan || !clocks[p].cpu_ns || place_[p] != place_[i]) continue;
      const bool same = clocks[i].thread == clocks[p].thread;
      if (clocks[i].cpu_ns && same) {
        auto& left = out_.figures[p].cpu_clock_ns;
        left = std::max<std::int64_t>(0, left.value_or(0) - *clocks[i].cpu_ns);
      } else if (!clocks[i].cpu_ns && (same || clocks[i].thread.empty())) {
        unknown[p] = 1;  // how much of it was this child's
      }
    }
    for (std::size_t i = 0; i < size(); ++i)
      if (unknown[i] != 0 || out_.unit[i] != i) out_.figures[i].cpu_clock_ns.reset();
  }

  void AddSamples() {
    raw_.resize(size());
    out_.made_others_wait_ns.assign(size(), 0);
    out_.samples.reserve(links_.size());
    for (std::size_t l = 0; l < links_.size(); ++l) {
      if (owner_[l] == kNoSpan) continue;
      const auto type = types_.find({links_[l].dictionary, links_[l].type});
      if (type != types_.end()) AddSample(links_[l], out_.unit[owner_[l]], type->second);
    }
    AddWall();
    std::ranges::stable_sort(out_.samples, {}, &SpanObservations::Sample::unit);
  }

  void AddSample(const store::LinkRow& link, std::uint32_t unit, const StoredType& type) {
    const std::int64_t value = type.use.Value(link.value);
    const std::int64_t count = type.use.Count(link.value, link.count);
    const WaitKind wait = series_.Find(link.dictionary, link.series).wait;
    Raw& raw = raw_[unit];
    const auto add = [&](Part part, Seen& seen, bool lock_look = false) {
      seen.Add(value, count);
      out_.samples.push_back({.unit = unit,
                              .part = part,
                              .lock_look = lock_look,
                              .dictionary = link.dictionary,
                              .stack = link.stack,
                              .value = value,
                              .count = count});
    };
    switch (type.tells) {
      case Tells::kCpu:
        return add(Part::kOnCpu, raw.cpu);
      case Tells::kWall:
        wall_.push_back({unit, &link, value, count});
        return raw.wall.Add(value, count);
      case Tells::kOffCpu:
        raw.off_cpu = true;
        if (wait == WaitKind::kIo) return add(Part::kIo, raw.io);
        if (wait == WaitKind::kSleep) return add(Part::kSleep, raw.sleep);
        if (wait == WaitKind::kLock) return add(Part::kOther, raw.lock_looks, true);
        return add(Part::kOther, raw.other);
      case Tells::kWaits:
        if (wait == WaitKind::kIo) return;  // by the same looks as off_cpu
        raw.waits_from = Source::kBlock;
        if (wait == WaitKind::kLock) return add(Part::kLock, raw.lock);
        return add(Part::kThread, raw.thread);
      case Tells::kLockWaits:
        raw.waits_from = Source::kMutex;
        return add(Part::kLock, raw.lock);
      case Tells::kThreadWaits:
        raw.waits_from = Source::kMutex;
        return add(Part::kThread, raw.thread);
      case Tells::kHolding:
        out_.made_others_wait_ns[unit] = SaturatingAdd(out_.made_others_wait_ns[unit], value);
        return;
      case Tells::kNothing:
        return;
    }
  }

  // Whether the wall clock says something that CPU and off-CPU samples do not.
  [[nodiscard]] bool UsesWall(std::uint32_t unit) const {
    const Raw& raw = raw_[unit];
    if (raw.wall.observations == 0 || raw.off_cpu) return false;
    return !out_.services[out_.service[unit]].ours || raw.cpu.observations == 0;
  }

  // Wall clock less CPU time, stack by stack.
  void AddWall() {
    using Place = std::tuple<std::uint32_t, store::DictionaryKey, std::uint32_t>;
    std::map<Place, std::pair<std::int64_t, std::int64_t>> waited;
    for (const WallSample& w : wall_) {
      if (!UsesWall(w.unit)) continue;
      auto& [value, count] = waited[{w.unit, w.link->dictionary, w.link->stack}];
      value = SaturatingAdd(value, w.value);
      count = SaturatingAdd(count, w.count);
    }
    if (waited.empty()) return;
    for (const SpanObservations::Sample& s : out_.samples) {
      if (s.part != Part::kOnCpu) continue;
      const auto at = waited.find({s.unit, s.dictionary, s.stack});
      if (at != waited.end()) at->second.first -= s.value;
    }
    for (const auto& [place, seen] : waited) {
      if (seen.first <= 0) continue;
      const auto& [unit, dictionary, stack] = place;
      raw_[unit].other.Add(seen.first, seen.second);
      out_.samples.push_back({.unit = unit,
                              .part = Part::kOther,
                              .dictionary = dictionary,
                              .stack = stack,
                              .value = seen.first,
                              .count = seen.second});
    }
  }

  void FinishFigures() {
    for (std::uint32_t i = 0; i < size(); ++i) {
      const Raw& raw = raw_[i];
      const ServiceFacts& facts = out_.services[out_.service[i]];
      SpanFigures& f = out_.figures[i];
      f.cpu = raw.cpu;
      f.lock = raw.lock;
      f.thread = raw.thread;
      f.io = raw.io;
      f.sleep = raw.sleep;
      f.other = raw.other;
      f.lock_looks = raw.lock_looks;
      f.waits_from = raw.waits_from;
      if (facts.links == 0) continue;  // nothing would show it
      f.cpu_distance_ns = facts.cpu_distance_ns;
      if (f.cpu_distance_ns == 0 && raw.cpu.observations > 0)
        f.cpu_distance_ns = std::max<std::int64_t>(1, raw.cpu.value / raw.cpu.observations);
      f.random_moments = facts.ours;
      if (f.waits_from == Source::kNone && facts.measures_locks)
        f.waits_from = facts.ours ? Source::kBlock : Source::kMutex;
      f.look_ns = facts.look_ns;
      if (UsesWall(i)) {
        f.looks_from = Source::kWall;
      } else if (raw.off_cpu || (facts.look_ns > 0 && facts.ours)) {
        f.looks_from = Source::kOffCpu;
      } else if (facts.look_ns > 0) {
        f.looks_from = Source::kWall;
      }
    }
  }

  struct WallSample {
    std::uint32_t unit;
    const store::LinkRow* link;
    std::int64_t value;
    std::int64_t count;
  };

  QueryContext& context_;
  const std::uint32_t tenant_;
  const CancelToken& cancel_;
  SpanObservations out_;
  std::vector<store::LinkRow> links_;
  std::vector<std::uint32_t> owner_;  // of each link: its span
  std::unordered_map<std::pair<profile::TraceId, profile::SpanId>, std::uint32_t, SpanHash> by_id_;
  std::map<profile::SpanId, std::uint32_t> by_span_only_;
  std::vector<std::uint64_t> place_;  // of each span: service and instance
  bool names_holder_ = false;
  store::SampleQuery query_;
  StoredTypes types_;
  AllSeries series_;
  std::vector<Raw> raw_;
  std::vector<WallSample> wall_;
};

}  // namespace

Result<SpanObservations> ObserveSpans(QueryContext& context, std::uint32_t tenant,
                                      const std::vector<profile::TraceId>& traces,
                                      const CancelToken& cancel) {
  return Observer(context, tenant, cancel).Run(traces);
}

std::string WhyUnobserved(const Account& account, const ServiceFacts& facts,
                          std::int64_t span_end_ns, std::int64_t now_ns) {
  if (account[Part::kUnobserved].value == 0) return {};
  const bool arriving = now_ns - span_end_ns < kAround && facts.newest_ns < span_end_ns;
  if (facts.profiles == 0 || facts.links == 0 || arriving)
    return WhyNoSamples({.service = facts.service,
                         .profiles = facts.profiles,
                         .links = facts.links,
                         .cpu_period_ns = facts.cpu_distance_ns,
                         .arriving = arriving});
  const Source looks = account[Part::kIo].source;
  if (looks == Source::kNone) {
    return fmt::format(
        "not on a CPU: it waited, or was ready to run; the profiler of {} links {} samples only",
        facts.service, facts.measures_locks ? "CPU and lock" : "CPU");
  }
  return fmt::format(
      "no sample met it: waiting between two looks, which stand for {} each, or ready to run "
      "without a CPU",
      FormatDuration(static_cast<std::int64_t>(facts.look_ns)));
}

}  // namespace wherefore::query
