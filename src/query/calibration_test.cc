// Are verdicts and intervals as often right as they say? Pairs of sides with a known truth, written
// through the store and asked as people ask.
//
// WHEREFORE_CALIBRATION_PAIRS (of each kind and mode, 1,000 in ./test --all) and
// WHEREFORE_CALIBRATION_SEED change what is tried. Limits are widened by three standard errors of
// the number of pairs.
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/test_deployment.h"
#include "query/tested_diff.h"

namespace wherefore::query {
namespace {

int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}
int Pairs() {
  return FromEnvironment("WHEREFORE_CALIBRATION_PAIRS", 30);
}
std::uint64_t Seed() {
  return static_cast<std::uint64_t>(FromEnvironment("WHEREFORE_CALIBRATION_SEED", 18));
}

// A kind of pairs: what both sides are like.
struct Kind {
  const char* name;
  int before = 5;  // instances
  int after = 5;
  double differ = 0;
  double drift = 0;
  double load = 1;  // after, of that before
  double cost = 1;  // samples of a request, of the usual
  int profiles = 1;
};
// Where instances differ there are enough samples for that to matter.
constexpr std::array<Kind, 8> kKinds = {{
    {.name = "independent, 5 + 5 instances"},
    {.name = "instances differ, 5 + 5", .differ = 0.3, .cost = 4},
    {.name = "instances differ, 3 + 3", .before = 3, .after = 3, .differ = 0.3, .cost = 4},
    {.name = "instances differ, 20 + 4", .before = 20, .after = 4, .differ = 0.3, .cost = 2},
    {.name = "instances differ, 20 + 1", .before = 20, .after = 1, .differ = 0.3, .cost = 2},
    {.name = "one instance, drift over a fifth",
     .before = 1,
     .after = 1,
     .drift = 0.3,
     .cost = 2,
     .profiles = 40},
    {.name = "load x 3", .differ = 0.1, .load = 3},
    {.name = "few samples", .differ = 0.3, .cost = 0.05},
}};
constexpr std::array<Compared, 3> kModes = {Compared::kShares, Compared::kPerSecond,
                                            Compared::kPerRequest};
constexpr std::array<const char*, 3> kModeNames = {"share", "rate", "request"};

// Three endpoints of ten functions, half of them with a callee; costs over three decades.
std::vector<GeneratedPath> MakePaths(std::mt19937_64& random, double cost) {
  std::vector<GeneratedPath> paths;
  std::lognormal_distribution<double> size(0, 1.2);
  for (std::size_t e = 0; e < 3; ++e) {
    const std::string endpoint = fmt::format("endpoint{}", e);
    for (int f = 0; f < 10; ++f) {
      const std::string name = fmt::format("f{}_{}", e, f);
      paths.push_back({{name, endpoint, "main"}, e, cost * size(random)});
      if (f % 2 == 0)
        paths.push_back({{fmt::format("g{}", f), name, endpoint, "main"}, e, cost * size(random)});
    }
  }
  return paths;
}

struct Sides {
  GeneratedSide before;
  GeneratedSide after;
};
Sides MakeSides(const Kind& kind, std::mt19937_64& random, bool linked) {
  Sides sides;
  // One instance with many profiles has as many requests as several with one.
  const double requests = kind.profiles > 1 ? 3 : 24;
  sides.before = {.version = "v1",
                  .paths = MakePaths(random, 0.4 * kind.cost),
                  .requests = {requests, requests / 2, requests / 4},
                  .instances = kind.before,
                  .profiles = kind.profiles,
                  .differ = kind.differ,
                  .drift = kind.drift,
                  .linked = linked};
  sides.after = sides.before;
  sides.after.version = "v2";
  sides.after.instances = kind.after;
  for (double& mean : sides.after.requests) mean *= kind.load;
  return sides;
}

profile::FlameTree TreeOf(const std::vector<GeneratedPath>& paths) {
  profile::TreeBuilder tree;
  for (const GeneratedPath& path : paths) {
    std::uint32_t node = 0;
    for (auto name = path.stack.rbegin(); name != path.stack.rend(); ++name)
      node = tree.Child(node, tree.AddFunction({.name = *name, .module = "shop"}));
    tree.AddValue(node, 1, 1);
  }
  return tree.Build();
}

bool IsCertain(Verdict verdict) {
  return verdict == Verdict::kMore || verdict == Verdict::kLess;
}

// What was found in many pairs.
struct Found {
  int pairs = 0;
  int tested = 0;     // functions
  int different = 0;  // at p <= 0.05
  int nodes = 0;
  int certain_nodes = 0;
  int listed = 0;  // pairs with a verdict
  int held = 0;    // intervals

  void Add(const TestedDifference& of) {
    ++pairs;
    bool any = false;
    for (const TestedFunction& f : of.functions) {
      for (const TestedChange* change : {&f.self, &f.total}) {
        const Comparison& c = change->comparison;
        if (c.observations < kMinObservations || c.low == c.high) continue;
        ++tested;
        different += c.p <= 0.05 ? 1 : 0;
        held += c.low <= 0 && 0 <= c.high ? 1 : 0;
        any = any || IsCertain(change->verdict);
      }
    }
    for (const Verdict verdict : of.nodes) {
      if (verdict == Verdict::kUnknown) continue;
      ++nodes;
      certain_nodes += IsCertain(verdict) ? 1 : 0;
      any = any || IsCertain(verdict);
    }
    listed += any ? 1 : 0;
  }
};

double Percent(int part, int whole) {
  return whole == 0 ? 0 : 100.0 * part / whole;
}
// Three standard errors of a share, in percent.
double Leeway(double percent, int pairs) {
  const double share = percent / 100;
  return 300 * std::sqrt(share * (1 - share) / pairs);
}

class EqualPairs : public testing::TestWithParam<std::size_t> {};

TEST_P(EqualPairs, AreSeldomCalledDifferent) {
  const Kind& kind = kKinds[GetParam()];
  std::mt19937_64 random(Seed() * 1000 + GetParam());
  std::array<Found, kModes.size()> found;
  for (int pair = 0; pair < Pairs(); ++pair) {
    const Sides sides = MakeSides(kind, random, pair % 2 == 0);
    // The engine gives the same answers; here and there it is asked.
    const bool engine = pair == 0 && kEngineLoads;
    GeneratedDeployment data(engine ? store::Kept::kInEngine : store::Kept::kInMemory, random());
    data.Write(sides.before);
    data.Write(sides.after);
    QueryContext context(data.reader());
    const profile::FlameTree shown = TreeOf(sides.before.paths);
    for (std::size_t m = 0; m < kModes.size(); ++m) {
      // More load is more per second: no equal pair.
      if (kModes[m] == Compared::kPerSecond && kind.load != 1) continue;
      const auto tested =
          TestDifference(context, data.Of("v1"), data.Of("v2"), kModes[m], {}, &shown, {});
      ASSERT_TRUE(tested) << tested.error().message();
      ASSERT_NE(tested->grouping, Grouping::kNone) << tested->note;
      found[m].Add(*tested);
    }
  }
  for (std::size_t m = 0; m < kModes.size(); ++m) {
    const Found& f = found[m];
    if (f.pairs == 0) continue;
    const double different = Percent(f.different, f.tested);
    const double listed = Percent(f.listed, f.pairs);
    const double held = Percent(f.held, f.tested);
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", kind.name, kModeNames[m],
               different, Percent(f.certain_nodes, f.nodes), listed, held);
    SCOPED_TRACE(fmt::format("{}, {}", kind.name, kModeNames[m]));
    EXPECT_LE(different, 6 + Leeway(6, f.pairs));
    EXPECT_LE(Percent(f.certain_nodes, f.nodes), 6 + Leeway(6, f.pairs));
    EXPECT_LE(listed, 8 + Leeway(8, f.pairs));
    EXPECT_GE(held, 92 - Leeway(8, f.pairs));
  }
}

INSTANTIATE_TEST_SUITE_P(Calibration, EqualPairs, testing::Range<std::size_t>(0, kKinds.size()));

// One function of some per cent costs more; which is known exactly.
struct Planted {
  std::size_t path = 0;
  double share = 0;    // the change, in shares
  double request = 0;  // per request of the service
  double second = 0;   // per second of all instances
};

double SumOf(const GeneratedSide& side, bool only, std::size_t path) {
  double sum = 0;
  for (std::size_t p = 0; p < side.paths.size(); ++p) {
    if (!only || p == path) sum += side.paths[p].cost * side.requests[side.paths[p].endpoint];
  }
  return sum;
}

Planted Plant(Sides& sides, std::mt19937_64& random) {
  Planted planted;
  const double all = SumOf(sides.before, false, 0);
  do {
    planted.path = random() % sides.before.paths.size();
  } while (SumOf(sides.before, true, planted.path) < 0.02 * all);
  sides.after.paths[planted.path].cost *= std::uniform_real_distribution<double>(1.1, 3)(random);
  const double before = SumOf(sides.before, true, planted.path);
  const double after = SumOf(sides.after, true, planted.path);
  planted.share = after / SumOf(sides.after, false, 0) - before / all;
  double requests = 0;
  for (const double n : sides.before.requests) requests += n;
  planted.request = (after - before) / requests;
  planted.second = (after - before) * sides.after.instances /
                   (static_cast<double>(kGeneratedProfileNs) / kNsPerSecond);
  return planted;
}

TEST(Calibration, IntervalsHoldAndDetectableChangesAreFound) {
  std::mt19937_64 random(Seed() * 1000 + 99);
  struct Tally {
    int pairs = 0;
    int held = 0;
    int above = 0;
    int found = 0;
  };
  std::array<Tally, kModes.size()> tallies;
  const int pairs = 4 * Pairs();
  for (int pair = 0; pair < pairs; ++pair) {
    Kind kind = kKinds[static_cast<std::size_t>(pair) % 3];
    Sides sides = MakeSides(kind, random, pair % 2 == 0);
    const Planted planted = Plant(sides, random);
    GeneratedDeployment data(store::Kept::kInMemory, random());
    data.Write(sides.before);
    data.Write(sides.after);
    QueryContext context(data.reader());
    const std::array<double, 3> truth = {planted.share, planted.second, planted.request};
    for (std::size_t m = 0; m < kModes.size(); ++m) {
      const auto tested =
          TestDifference(context, data.Of("v1"), data.Of("v2"), kModes[m], {}, nullptr, {});
      ASSERT_TRUE(tested) << tested.error().message();
      const TestedFunction* const f =
          tested->Find({.name = sides.before.paths[planted.path].stack.front(), .module = "shop"});
      ASSERT_NE(f, nullptr);
      const Comparison& c = f->self.comparison;
      Tally& tally = tallies[m];
      ++tally.pairs;
      tally.held += c.low <= truth[m] && truth[m] <= c.high ? 1 : 0;
      if (truth[m] < c.detectable) continue;
      ++tally.above;
      tally.found += c.p <= 0.05 && c.change > 0 ? 1 : 0;
    }
  }
  for (std::size_t m = 0; m < kModes.size(); ++m) {
    const Tally& t = tallies[m];
    const double held = Percent(t.held, t.pairs);
    const double seen = Percent(t.found, t.above);
    fmt::print("| planted, {} pairs | {} | intervals held {:.1f} | {} of {} found, {:.1f} |\n",
               t.pairs, kModeNames[m], held, t.found, t.above, seen);
    SCOPED_TRACE(kModeNames[m]);
    EXPECT_GE(held, 92 - Leeway(8, t.pairs));
    EXPECT_LE(held, 99 + Leeway(1, t.pairs));
    EXPECT_GT(t.above, t.pairs / 4) << "changes are large enough to say something";
    EXPECT_GE(seen, 80 - Leeway(20, t.above));
  }
}

}  // namespace
}  // namespace wherefore::query
