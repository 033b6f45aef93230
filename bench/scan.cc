// bench_scan: opens a data directory that no server uses and prints, as JSON, how big its tables
// are and how long the engine itself takes to add up the samples of one service: the minimum cost
// of every flame graph.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/json_writer.h"
#include "store/store.h"

namespace wherefore::bench {
namespace {

struct Options {
  std::string data;
  std::string service;  // empty: all
  store::TimeRange range{0, INT64_MAX};
  int times = 20;
};

Result<> Tables(store::Store& store, JsonWriter& json) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto statistics, store.reader().Statistics({}));
  json.Key("tables").BeginObject();
  for (std::size_t i = 0; i < statistics.rows.size(); ++i) {
    json.Key(statistics.rows[i].first).BeginObject();
    json.Field("rows", statistics.rows[i].second);
    json.Field("bytes", statistics.bytes_on_disk[i].second).EndObject();
  }
  json.EndObject();
  return {};
}

Result<> Scan(store::Store& store, const Options& options, JsonWriter& json) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto services, store.reader().Services(0, options.range, {}));
  store::SampleQuery query{.tenant = 0, .range = options.range, .selections = {}};
  for (const store::ServiceRow& row : services) {
    if (options.service.empty() || row.name == options.service)
      query.selections.push_back({row.dictionary, {}, {}});
  }
  std::vector<double> times;
  std::int64_t total = 0;
  for (int i = 0; i <= options.times; ++i) {
    const std::int64_t begin = MonotonicNs();
    WHEREFORE_ASSIGN_OR_RETURN(const auto sums, store.reader().SumStacks(query, {}));
    if (i > 0) times.push_back(static_cast<double>(MonotonicNs() - begin) / 1e6);
    total = 0;
    for (const store::StackSum& sum : sums) total += sum.value;
  }
  std::ranges::sort(times);
  json.Key("scan").BeginObject().Field("total", total).Key("ms").BeginArray();
  for (const double ms : times) json.Double(ms);
  json.EndArray().EndObject();
  return {};
}

Result<> Run(const Options& options, std::string& out) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto store, store::Store::Open({.directory = options.data}));
  JsonWriter json(out);
  json.BeginObject();
  WHEREFORE_RETURN_IF_ERROR(Tables(*store, json));
  if (options.times > 0) WHEREFORE_RETURN_IF_ERROR(Scan(*store, options, json));
  json.EndObject();
  return {};
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("Sizes of the tables and the engine's own time for a sum per stack");
  app.add_option("--data", o.data)->required();
  app.add_option("--service", o.service);
  app.add_option("--from-ns", o.range.from_ns);
  app.add_option("--to-ns", o.range.to_ns);
  app.add_option("--times", o.times)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::string out;
  if (const Result<> done = Run(o, out); !done) {
    fmt::print(stderr, "bench_scan: {}\n", done.error().message());
    return 3;
  }
  fmt::print("{}\n", out);
  return 0;
}

}  // namespace
}  // namespace wherefore::bench

int main(int argc, char** argv) {
  return wherefore::bench::Main(argc, argv);
}
