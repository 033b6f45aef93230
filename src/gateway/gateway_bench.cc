// What a graph costs a request: nothing of note on the default way, a copy for each further end.
#include <benchmark/benchmark.h>

#include "gateway/graph/graph.h"
#include "gateway/process/redact.h"
#include "gateway/process/test_requests.h"

namespace wherefore::gateway {
namespace {

// Takes everything.
class NullSink final : public profile::Sink {
 public:
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override {
    kept_ = std::move(request);
    done(profile::WriteAnswer{});
  }
  profile::WriteRequest Take() { return std::move(kept_); }

 private:
  profile::WriteRequest kept_;
};

// 2,000 samples with stacks of their own, as one large request.
profile::WriteRequest LargeRequest() {
  profile::Batch batch;
  const profile::Id resource = AddResource(batch, "shop");
  for (int i = 0; i < 2000; ++i) {
    AddProfile(batch, resource, "some::function::number_" + std::to_string(i), "label", "value");
  }
  return RequestOf(std::move(batch));
}

void Direct(benchmark::State& state) {
  NullSink sink;
  profile::WriteRequest request = LargeRequest();
  for (auto unused : state) {
    sink.Write(std::move(request), [](const Result<profile::WriteAnswer>&) {});
    request = sink.Take();
  }
}
BENCHMARK(Direct);

void ThroughTheDefaultGraph(benchmark::State& state) {
  NullSink sink;
  ExporterSet none(nullptr);
  Inlet inlet("otlp");
  inlet.Set(std::make_shared<const Graph>(DefaultPipelines(), &sink, none));
  profile::WriteRequest request = LargeRequest();
  for (auto unused : state) {
    inlet.Write(std::move(request), [](const Result<profile::WriteAnswer>&) {});
    request = sink.Take();
  }
}
BENCHMARK(ThroughTheDefaultGraph);

void CopyForAFurtherEnd(benchmark::State& state) {
  const profile::WriteRequest request = LargeRequest();
  for (auto unused : state) benchmark::DoNotOptimize(request.Clone());
}
BENCHMARK(CopyForAFurtherEnd);

void RedactNothing(benchmark::State& state) {
  Redactor redactor("redact", *RedactRules::Make({}));
  profile::WriteRequest request = LargeRequest();
  for (auto unused : state) (void)redactor.Process(request);
}
BENCHMARK(RedactNothing);

}  // namespace
}  // namespace wherefore::gateway
