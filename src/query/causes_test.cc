// Causes of generated deployments: known changes among decoys.
#include "query/causes.h"

#include <map>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

using Path = std::vector<std::string>;   // outermost first
using Service = std::map<Path, double>;  // cost of each path, in samples an instance

// One group of a side: counts drawn for each path.
void AddInstance(StackTable& table, Side side, const Service& service, double load,
                 const std::map<std::string, double>& endpoint_mix, std::mt19937_64& random) {
  TrieSums::Stacks stacks;
  std::map<std::string, std::uint32_t> functions;
  for (const auto& [path, cost] : service) {
    const auto mix = endpoint_mix.find(path[1]);
    const double mean = cost * load * (mix == endpoint_mix.end() ? 1 : mix->second);
    const auto seen = std::poisson_distribution<std::int64_t>(mean)(random);
    if (seen == 0) continue;
    std::uint32_t node = 0;
    for (const std::string& name : path) {
      const auto [f, fresh] =
          functions.try_emplace(name, static_cast<std::uint32_t>(stacks.functions.size()));
      if (fresh) stacks.functions.push_back({.name = name, .module = "shop"});
      stacks.nodes.push_back({node, f->second});
      node = static_cast<std::uint32_t>(stacks.nodes.size() - 1);
    }
    stacks.ends.push_back({node, seen * 10, seen});
  }
  table.AddGroup(side, stacks, 1, std::nullopt);
}

// Six endpoints of eight functions, each with up to three callees.
Service MakeService(std::mt19937_64& random) {
  Service service;
  std::gamma_distribution<double> cost(1.5, 60);
  for (int e = 0; e < 6; ++e) {
    for (int f = 0; f < 8; ++f) {
      const Path path = {"main", fmt::format("endpoint{}", e), fmt::format("f{}_{}", e, f)};
      service[path] = 5 + cost(random);
      for (std::uint64_t leaf = 0; leaf < random() % 4; ++leaf) {
        Path deeper = path;
        deeper.push_back(fmt::format("g{}_{}_{}", e, f, leaf));
        service[deeper] = 5 + cost(random);
      }
    }
  }
  return service;
}

double TotalOf(const Service& service) {
  double sum = 0;
  for (const auto& [path, cost] : service) sum += cost;
  return sum;
}

struct Deployment {
  StackTable table;
  std::string changed;  // the function that costs more; empty: none
};

enum class Decoy { kNone, kLoad, kRename, kHelper };

// `part`: of the service's cost, how much more one function costs; 0: nothing.
Deployment Deploy(std::uint64_t seed, double part, Decoy decoy) {
  std::mt19937_64 random(seed);
  Service before = MakeService(random);
  Service after = before;
  Deployment out;
  const auto pick = [&] {
    return std::next(after.begin(), static_cast<long>(random() % after.size()));
  };
  if (part > 0) {
    const auto which = pick();
    which->second += part * TotalOf(before);
    out.changed = which->first.back();
  }
  if (decoy == Decoy::kRename || decoy == Decoy::kHelper) {
    auto which = pick();
    while (which->first.back() == out.changed || which->second < 0.01 * TotalOf(before))
      which = pick();
    Path path = which->first;
    const double cost = which->second;
    after.erase(which);
    if (decoy == Decoy::kRename) {
      path.back() += "_renamed";
    } else {
      path.push_back(path.back() + "_helper");
    }
    after[path] = cost;
  }
  std::gamma_distribution<double> differ(100, 0.01);  // instances have uneven mixes
  for (int instance = 0; instance < 10; ++instance) {
    const Side side = instance < 5 ? Side::kBefore : Side::kAfter;
    std::map<std::string, double> mix;
    for (int e = 0; e < 6; ++e) mix[fmt::format("endpoint{}", e)] = differ(random);
    const double load = decoy == Decoy::kLoad && side == Side::kAfter ? 3 : 1;
    AddInstance(out.table, side, side == Side::kBefore ? before : after, load, mix, random);
  }
  return out;
}

std::vector<Cause> CausesOf(Deployment& deployment) {
  MeasureAgainstTheUnchanged(deployment.table);
  auto causes = FindCauses(deployment.table, {});
  EXPECT_TRUE(causes) << causes.error().message();
  return causes ? *std::move(causes) : std::vector<Cause>{};
}

std::string Text(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& c : causes)
    out += fmt::format("{} {} {:+.4f} ({:+.4f} to {:+.4f}); ", CauseKindName(c.kind),
                       c.function.name, c.share_of_before, c.low, c.high);
  return out;
}

TEST(Causes, AFunctionThatCostsMoreIsTheOnlyReport) {
  Deployment deployment = Deploy(1, 0.1, Decoy::kNone);
  const std::vector<Cause> causes = CausesOf(deployment);
  ASSERT_EQ(causes.size(), 1u) << Text(causes);
  EXPECT_EQ(causes[0].function.name, deployment.changed);
  EXPECT_EQ(causes[0].kind, CauseKind::kMore);
  EXPECT_NEAR(causes[0].share_of_before, 0.1, 0.03);
  ASSERT_FALSE(causes[0].callers.empty());
}

TEST(Causes, WhatIsNewAndWhatIsGoneIsCalledSo) {
  const auto table = [](const Service& before, const Service& after) {
    std::mt19937_64 random(3);
    StackTable made;
    for (int i = 0; i < 4; ++i) AddInstance(made, Side::kBefore, before, 1, {}, random);
    for (int i = 0; i < 4; ++i) AddInstance(made, Side::kAfter, after, 1, {}, random);
    MeasureAgainstTheUnchanged(made);
    return made;
  };
  const Service small = {{{"main", "serve", "work"}, 1000}};
  Service large = small;
  large[{"main", "serve", "check"}] = 100;
  StackTable grown = table(small, large);
  const auto added = FindCauses(grown, {});
  ASSERT_TRUE(added && added->size() == 1) << Text(*added);
  EXPECT_EQ(added->at(0).kind, CauseKind::kNew);
  EXPECT_EQ(added->at(0).function.name, "check");
  EXPECT_NEAR(added->at(0).share_of_before, 0.1, 0.02);
  StackTable shrunk = table(large, small);
  const auto removed = FindCauses(shrunk, {});
  ASSERT_TRUE(removed && removed->size() == 1) << Text(*removed);
  EXPECT_EQ(removed->at(0).kind, CauseKind::kGone);
  EXPECT_NEAR(removed->at(0).share_of_before, -1.0 / 11, 0.02);
}

TEST(Causes, ARenameIsAMove) {
  int moved = 0;
  int others = 0;
  std::string wrong;
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    Deployment deployment = Deploy(seed, 0, Decoy::kRename);
    const std::vector<Cause> causes = CausesOf(deployment);
    for (const Cause& c : causes) {
      (c.kind == CauseKind::kMoved ? moved : others) += 1;
      if (c.kind != CauseKind::kMoved) wrong += fmt::format("{}: {}\n", seed, Text(causes));
    }
  }
  EXPECT_GE(moved, 8) << wrong;
  EXPECT_LE(others, 1) << wrong;
}

TEST(Causes, NothingOnOneSideHasNoCause) {
  StackTable table;
  std::mt19937_64 random(1);
  AddInstance(table, Side::kBefore, {{{"main", "serve"}, 100}}, 1, {}, random);
  const auto causes = FindCauses(table, {});
  ASSERT_TRUE(causes);
  EXPECT_TRUE(causes->empty());
}

// Without links: precision and recall of 85 % and more. A move is no report of a cost.
TEST(Causes, GeneratedDeployments) {
  int planted = 0;
  int found = 0;
  int reported = 0;
  int right = 0;
  int held = 0;
  std::string wrong;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed + 5000);
    const double part =
        seed % 2 == 0 ? std::uniform_real_distribution<double>(0.02, 0.2)(random) : 0;
    Deployment deployment = Deploy(seed + 1000, part, static_cast<Decoy>(seed / 2 % 4));
    const std::vector<Cause> causes = CausesOf(deployment);
    planted += part > 0 ? 1 : 0;
    bool hit = false;
    for (const Cause& cause : causes) {
      if (cause.kind == CauseKind::kMoved) continue;
      ++reported;
      const bool is_it = cause.function.name == deployment.changed && cause.change > 0 && !hit;
      right += is_it ? 1 : 0;
      held += is_it && cause.low <= part && part <= cause.high ? 1 : 0;
      hit = hit || is_it;
      if (!is_it)
        wrong += fmt::format("seed {} ({:.3f} in {}): {}\n", seed, part, deployment.changed,
                             Text(causes));
    }
    found += hit ? 1 : 0;
    if (part > 0 && !hit)
      wrong += fmt::format("seed {} ({:.3f} in {}) missed: {}\n", seed, part, deployment.changed,
                           Text(causes));
  }
  RecordProperty("precision", fmt::format("{} of {}", right, reported));
  RecordProperty("recall", fmt::format("{} of {}", found, planted));
  fmt::print("precision {} of {}, recall {} of {}, {} intervals held\n{}", right, reported, found,
             planted, held, wrong);
  EXPECT_GE(held * 100, right * 85);
  EXPECT_GE(right * 100, reported * 85) << wrong;
  EXPECT_GE(found * 100, planted * 85) << wrong;
}

}  // namespace
}  // namespace wherefore::query
