// What a scope costs: the budget is 5 ns for enter and leave together.
#include <benchmark/benchmark.h>

#include "wherefore/context.h"

namespace {

void BM_SpanScope(benchmark::State& state) {
  wherefore::SpanContext span{};
  span.trace_id[0] = 1;
  span.span_id[0] = 2;
  for (auto _ : state) {
    const wherefore::SpanScope scope(span);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SpanScope);

void BM_NestedSpanScopes(benchmark::State& state) {
  wherefore::SpanContext outer{};
  outer.trace_id[0] = 1;
  outer.span_id[0] = 2;
  wherefore::SpanContext inner = outer;
  inner.span_id[0] = 3;
  for (auto _ : state) {
    const wherefore::SpanScope first(outer);
    const wherefore::SpanScope second(inner);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_NestedSpanScopes);

void BM_LabelScope(benchmark::State& state) {
  static const wherefore::LabelKey kRoute("http.route");
  for (auto _ : state) {
    const wherefore::LabelScope scope(kRoute, "/items/{id}");
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_LabelScope);

void BM_SaveAndRestoreContext(benchmark::State& state) {
  for (auto _ : state) {
    wherefore::SavedContext::Capture().Restore();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SaveAndRestoreContext);

}  // namespace
