#include "insight/detectors.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <re2/re2.h>

#include "query/own_code.h"

namespace wherefore::insight {
namespace {

using Path = std::vector<std::uint32_t>;

double ValueOf(const query::StackTable::Stack& stack) {
  double value = 0;
  for (const query::StackTable::Cell& cell : stack.cells) value += cell.value;
  return value;
}

template <typename Visit>
void EachStack(const query::StackTable& table, Visit visit) {
  for (std::uint32_t s = 0; s < table.stacks().size(); ++s) {
    const Path path = table.PathOf(table.stacks()[s]);
    if (!path.empty()) visit(s, path, ValueOf(table.stacks()[s]));
  }
}

std::uint32_t CallerOf(const Path& path, std::size_t at) {
  const std::uint32_t function = path[at];
  while (at > 0 && path[at] == function) --at;
  return path[at] == function ? Hit::kNoFunction : path[at];
}

// The function with most, by number; none if there is nothing.
std::optional<std::uint32_t> Largest(const std::vector<double>& values) {
  const auto most = std::ranges::max_element(values);
  if (most == values.end() || *most <= 0) return std::nullopt;
  return static_cast<std::uint32_t>(most - values.begin());
}

// A profiler's own work, and what it says in place of a function: nobody can change its lines.
bool IsNoFunction(const profile::FlameFunction& f) {
  static const query::OwnCode kDefaults = *query::OwnCode::Parse("");
  static const RE2 kNames(
      R"(^(:Non JS threads activity|\(idle\)|\(program\)|\(garbage collector\)|Garbage Collection|\[))");
  return kDefaults.KindOf(f) == "profiler" || RE2::PartialMatch(f.name, kNames);
}

std::vector<Hit> Dominant(const query::StackTable& table) {
  std::vector<double> self(table.functions().size());
  EachStack(table,
            [&](std::uint32_t, const Path& path, double value) { self[path.back()] += value; });
  for (std::size_t f = 0; f < self.size(); ++f) {
    if (IsNoFunction(table.functions()[f])) self[f] = 0;
  }
  std::vector<Hit> hits;
  const auto largest = Largest(self);
  if (!largest) return hits;
  EachStack(table, [&](std::uint32_t s, const Path& path, double) {
    if (path.back() == *largest) hits.push_back({s, *largest, CallerOf(path, path.size() - 1)});
  });
  return hits;
}

// The function that is on the stack most often, where that is often enough.
std::optional<std::uint32_t> RecursionOf(const Path& path) {
  if (path.size() < kRecursions) return std::nullopt;
  Path sorted = path;
  std::ranges::sort(sorted);
  std::optional<std::uint32_t> most;
  std::size_t times = kRecursions - 1;
  for (auto at = sorted.begin(); at != sorted.end();) {
    const auto end = std::upper_bound(at, sorted.end(), *at);
    if (static_cast<std::size_t>(end - at) > times) {
      times = static_cast<std::size_t>(end - at);
      most = *at;
    }
    at = end;
  }
  return most;
}

std::vector<Hit> Recursion(const query::StackTable& table) {
  std::vector<Hit> hits;
  EachStack(table, [&](std::uint32_t s, const Path& path, double) {
    if (const auto function = RecursionOf(path)) {
      const auto first = std::ranges::find(path, *function) - path.begin();
      hits.push_back({s, *function, CallerOf(path, static_cast<std::size_t>(first))});
    }
  });
  return hits;
}

// Half of the value and more is in deep stacks, or stacks were cut.
std::vector<Hit> Deep(const query::StackTable& table) {
  double all = 0;
  double deep = 0;
  EachStack(table, [&](std::uint32_t, const Path& path, double value) {
    all += value;
    if (path.size() >= kDeepStack) deep += value;
  });
  const bool mostly_deep = deep * 2 >= all;
  std::vector<Hit> hits;
  EachStack(table, [&](std::uint32_t s, const Path& path, double) {
    const bool cut = table.functions()[path.front()].name == "[truncated]";
    if (cut || (mostly_deep && path.size() >= kDeepStack))
      hits.push_back({s, path.back(), CallerOf(path, path.size() - 1)});
  });
  return hits;
}

// Code of runtimes, allocators and libraries, which everybody calls from everywhere.
bool IsEverybodys(const profile::FlameFunction& f) {
  static const RE2 kNames(
      R"(^(std::|__|_|operator |void std::|runtime\.|sync\.|internal/|java/|jdk/|sun/|node:|core::|alloc::|mem(cpy|move|set|cmp)|malloc|free|realloc|calloc|str|\[|\())");
  static const RE2 kModules(
      R"(^(lib(c|m|stdc\+\+|gcc_s|pthread|jemalloc|tcmalloc|ssl|crypto)[.-]|ld-|libjvm|\[|vmlinux))");
  return f.kind == profile::FrameKind::kKernel || RE2::PartialMatch(f.name, kNames) ||
         RE2::PartialMatch(f.module, kModules);
}

// The dearest function that is called from many places, each of which matters: a percent of it.
std::vector<Hit> Repeated(const query::StackTable& table) {
  const std::size_t functions = table.functions().size();
  std::vector<double> total(functions);
  std::vector<std::unordered_map<std::uint32_t, double>> callers(functions);
  std::vector<std::uint32_t> seen(functions, Hit::kNoFunction);  // in which stack last
  EachStack(table, [&](std::uint32_t s, const Path& path, double value) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (seen[path[i]] == s) continue;  // recursion counts once
      seen[path[i]] = s;
      total[path[i]] += value;
      callers[path[i]][path[i - 1]] += value;
    }
  });
  std::optional<std::uint32_t> found;
  for (std::uint32_t f = 0; f < functions; ++f) {
    if (callers[f].size() < kManyCallers || IsEverybodys(table.functions()[f])) continue;
    const auto matter = std::ranges::count_if(
        callers[f], [&](const auto& caller) { return caller.second >= total[f] / 100; });
    if (static_cast<std::size_t>(matter) >= kManyCallers && (!found || total[f] > total[*found]))
      found = f;
  }
  std::vector<Hit> hits;
  if (!found) return hits;
  EachStack(table, [&](std::uint32_t s, const Path& path, double) {
    const auto at = std::ranges::find(path, *found);
    if (at != path.end())
      hits.push_back({s, *found, CallerOf(path, static_cast<std::size_t>(at - path.begin()))});
  });
  return hits;
}

// Whose lock it was: the innermost function that is not the lock itself.
std::optional<std::size_t> HolderOn(const Path& path, const std::vector<bool>& is_lock) {
  for (std::size_t i = path.size(); i > 0; --i) {
    if (!is_lock[path[i - 1]]) return i - 1;
  }
  return std::nullopt;
}

std::vector<Hit> LockConvoy(const query::StackTable& table) {
  static const RE2 kLocks(
      R"((?i)mutex|rwlock|unlock|lock_guard|unique_lock|scoped_lock|shared_lock|futex|semaphore|^runtime\.|^__|^sync\.|locksupport|\[wherefore)");
  std::vector<bool> is_lock;
  for (const profile::FlameFunction& f : table.functions())
    is_lock.push_back(RE2::PartialMatch(f.name, kLocks));
  std::vector<double> held(table.functions().size());
  EachStack(table, [&](std::uint32_t, const Path& path, double value) {
    if (const auto at = HolderOn(path, is_lock)) held[path[*at]] += value;
  });
  std::vector<Hit> hits;
  const auto largest = Largest(held);
  if (!largest) return hits;
  EachStack(table, [&](std::uint32_t s, const Path& path, double) {
    const auto at = HolderOn(path, is_lock);
    if (at && path[*at] == *largest) hits.push_back({s, *largest, CallerOf(path, *at)});
  });
  return hits;
}

}  // namespace

std::vector<Hit> Detect(Detector detector, const query::StackTable& table) {
  switch (detector) {
    case Detector::kDominant:
      return Dominant(table);
    case Detector::kRecursion:
      return Recursion(table);
    case Detector::kDeep:
      return Deep(table);
    case Detector::kRepeated:
      return Repeated(table);
    case Detector::kLockConvoy:
      return LockConvoy(table);
    case Detector::kNPlusOne:
    case Detector::kNone:
      break;
  }
  return {};
}

}  // namespace wherefore::insight
