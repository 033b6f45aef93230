// Decoding one request of the load in docs/performance.md (120 samples of 26 frames, its own
// dictionary, about 52 kB), compared with the protobuf library parsing the same bytes.
#include <time.h>

#include <random>

#include <benchmark/benchmark.h>

#include "../../bench/load.h"
#include "formats/formats.h"
#include "formats/jfr/testing.h"
#include "formats/otlp/merge.h"
#include "opentelemetry/proto/profiles/v1development/profiles.pb.h"

namespace wherefore::formats {
namespace {

namespace otlp = opentelemetry::proto::profiles::v1development;

void AddFunctions(int count, std::mt19937_64& random, otlp::ProfilesDictionary* d) {
  for (int i = 1; i <= count; ++i) {
    const int name = d->string_table_size();
    d->add_string_table("wherefore::service::Handler" + std::to_string(random() % 4000) + "::run");
    otlp::Function* f = d->add_function_table();
    f->set_name_strindex(name);
    f->set_filename_strindex(1);
    otlp::Location* l = d->add_location_table();
    l->set_mapping_index(1);
    l->set_address(0x400000 + random() % 0x1000000);
    otlp::Line* line = l->add_lines();
    line->set_function_index(i);
    line->set_line(static_cast<std::int64_t>(random() % 2000));
  }
}

std::string Request() {
  std::mt19937_64 random(1);
  otlp::ProfilesData data;
  otlp::ProfilesDictionary* d = data.mutable_dictionary();
  for (const char* s :
       {"", "src/service/handler.cc", "samples", "count", "cpu", "nanoseconds", "app"}) {
    d->add_string_table(s);
  }
  d->add_function_table();
  d->add_location_table();
  d->add_mapping_table();
  d->add_attribute_table();
  d->add_stack_table();
  d->add_link_table();
  d->add_mapping_table()->set_filename_strindex(6);
  constexpr int kFunctions = 700;
  AddFunctions(kFunctions, random, d);
  auto* rp = data.add_resource_profiles();
  auto* kv = rp->mutable_resource()->add_attributes();
  kv->set_key("service.name");
  kv->mutable_value()->set_string_value("checkout");
  otlp::Profile* p = rp->add_scope_profiles()->add_profiles();
  p->mutable_sample_type()->set_type_strindex(2);
  p->mutable_sample_type()->set_unit_strindex(3);
  p->mutable_period_type()->set_type_strindex(4);
  p->mutable_period_type()->set_unit_strindex(5);
  p->set_period(10'000'000);
  p->set_time_unix_nano(1'700'000'000'000'000'000U);
  for (int i = 1; i <= 120; ++i) {
    otlp::Stack* s = d->add_stack_table();
    for (int f = 0; f < 26; ++f)
      s->add_location_indices(static_cast<int>(1 + random() % kFunctions));
    otlp::Sample* sample = p->add_samples();
    sample->set_stack_index(i);
    sample->add_values(static_cast<std::int64_t>(1 + random() % 20));
    if (i % 10 == 0) {
      sample->set_link_index(d->link_table_size());
      otlp::Link* l = d->add_link_table();
      l->set_trace_id(std::string(16, static_cast<char>(i)));
      l->set_span_id(std::string(8, static_cast<char>(i)));
    }
  }
  return data.SerializeAsString();
}

void BM_DecodeOtlpProfiles(benchmark::State& state) {
  const auto body = std::make_shared<const std::string>(Request());
  for (auto _ : state) {
    auto decoded = DecodeOtlpProfiles(body);
    benchmark::DoNotOptimize(decoded);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body->size()));
  state.counters["body"] = static_cast<double>(body->size());
}
BENCHMARK(BM_DecodeOtlpProfiles);

void BM_ProtobufParse(benchmark::State& state) {
  const std::string body = Request();
  for (auto _ : state) {
    otlp::ProfilesData data;
    benchmark::DoNotOptimize(data.ParseFromString(body));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(BM_ProtobufParse);

std::int64_t CpuNanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// Alternates between both and measures CPU time, so that a busy machine does not distort it.
// `ratio` is how many times faster ours is.
void BM_DecodeVersusProtobuf(benchmark::State& state) {
  constexpr int kRounds = 20;
  const auto body = std::make_shared<const std::string>(Request());
  std::int64_t ours = 0;
  std::int64_t theirs = 0;
  for (auto _ : state) {
    const std::int64_t start = CpuNanoseconds();
    for (int i = 0; i < kRounds; ++i) {
      auto decoded = DecodeOtlpProfiles(body);
      benchmark::DoNotOptimize(decoded);
    }
    const std::int64_t middle = CpuNanoseconds();
    for (int i = 0; i < kRounds; ++i) {
      otlp::ProfilesData data;
      benchmark::DoNotOptimize(data.ParseFromString(*body));
    }
    ours += middle - start;
    theirs += CpuNanoseconds() - middle;
  }
  state.counters["ratio"] = static_cast<double>(theirs) / static_cast<double>(ours);
}
BENCHMARK(BM_DecodeVersusProtobuf);

void BM_EncodeOtlpProfiles(benchmark::State& state) {
  const auto decoded = DecodeOtlpProfiles(std::make_shared<const std::string>(Request()));
  std::size_t bytes = 0;
  for (auto _ : state) bytes += EncodeOtlpProfiles(decoded->data).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(BM_EncodeOtlpProfiles);

// 68 requests of the benchmark's load, of one service and of eight, become one. `share` is what is
// left of their bytes; the budget is 0.25.
void BM_MergeOtlpProfiles(benchmark::State& state) {
  const bench::Load load({.services = static_cast<int>(state.range(0))});
  bench::RequestWriter writer(load);
  bench::Content content;
  std::vector<std::string> requests(68);
  std::size_t bytes = 0;
  for (int i = 0; i < 68; ++i) {
    std::string& request = requests[static_cast<std::size_t>(i)];
    writer.Write(i % load.shape().services, i % 5, i, 1'700'000'000'000'000'000, request, content);
    bytes += request.size();
  }
  const std::vector<std::string_view> views(requests.begin(), requests.end());
  std::size_t merged = 0;
  for (auto _ : state) merged = MergeOtlp(Signal::kProfiles, views)->size();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["request"] = static_cast<double>(bytes) / 68;
  state.counters["share"] = static_cast<double>(merged) / static_cast<double>(bytes);
}
BENCHMARK(BM_MergeOtlpProfiles)->Arg(1)->Arg(8)->Arg(20);

// Ten seconds of a Java service as its agent records them: 8 busy threads at 100 Hz, 2,000 stacks
// of 26 frames from 700 methods with four lines each, half of the samples within spans.
std::string Recording(int samples) {
  using testing::JfrWriter;
  std::mt19937_64 random(1);
  JfrWriter w;
  constexpr int kExecution = 100;
  constexpr int kMethods = 700;
  constexpr int kStacks = 2000;
  w.Define(kExecution, "jdk.ExecutionSample",
           {{"startTime", JfrWriter::kLong},
            {"sampledThread", JfrWriter::kThread, true},
            {"stackTrace", JfrWriter::kStackTrace, true},
            {"state", JfrWriter::kThreadState, true},
            {"spanId", JfrWriter::kLong},
            {"spanName", JfrWriter::kLong},
            {"contextId", JfrWriter::kLong}});
  w.Constant(JfrWriter::kThreadState, 1, w.Bytes().Text("STATE_DEFAULT"));
  w.Constant(JfrWriter::kFrameType, 1, w.Bytes().Text("JIT compiled"));
  for (int i = 1; i <= kMethods; ++i) {
    w.Method(i, "com/example/shop/service/Handler" + std::to_string(i % 100),
             "handle" + std::to_string(i));
  }
  for (int i = 1; i <= kStacks; ++i) {
    std::vector<std::pair<std::int64_t, int>> frames;
    for (int f = 0; f < 26; ++f) {
      frames.emplace_back(1 + random() % kMethods, static_cast<int>(10 + random() % 4));
    }
    w.Stack(i, frames);
  }
  for (int i = 0; i < 8; ++i) {
    const std::string name = "pool-1-thread-" + std::to_string(i);
    w.Constant(JfrWriter::kThread, i + 1, w.Bytes().Text(name).Long(i).Text(name));
  }
  for (int i = 0; i < samples; ++i) {
    const auto span = static_cast<std::int64_t>(i % 2 == 0 ? random() % 100 << 40 : 0);
    const auto stack = static_cast<std::int64_t>(1 + random() % kStacks);
    w.Event(kExecution, w.Bytes()
                            .Long(i * 1'000'000L)
                            .Long(1 + i % 8)
                            .Long(stack)
                            .Long(1)
                            .Long(span)
                            .Long(0)
                            .Long(0));
  }
  return w.Finish();
}

void BM_DecodeJfr(benchmark::State& state) {
  const auto samples = static_cast<int>(state.range(0));
  const auto body = std::make_shared<const std::string>(Recording(samples));
  for (auto _ : state) {
    auto decoded = DecodeJfr(body, {.service = "shop"});
    benchmark::DoNotOptimize(decoded);
  }
  state.SetItemsProcessed(state.iterations() * samples);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body->size()));
  state.counters["body"] = static_cast<double>(body->size());
}
BENCHMARK(BM_DecodeJfr)->Arg(8'000)->Arg(200'000);

}  // namespace
}  // namespace wherefore::formats
