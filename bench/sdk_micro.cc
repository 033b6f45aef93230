// One small operation, many times: what a single malloc, lock or span scope costs. bench/sdk_micro
// runs it with and without libwherefore.
//
//   sdk_micro OPERATION COUNT TIMES    the fastest of TIMES rounds, in nanoseconds per operation
//
// Built twice: alone, and linked with libwherefore (sdk_micro_linked), which has the scopes too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <mutex>

#ifdef WITH_LIBWHEREFORE
#include <wherefore/context.h>
#endif

namespace {

using Operation = void (*)(long count);

// Keeps the compiler from removing the operation.
inline void Keep(void* p) {
  asm volatile("" : : "r"(p) : "memory");
}

void MallocFree(long count) {
  for (long i = 0; i < count; ++i) {
    void* p = std::malloc(64);
    Keep(p);
    std::free(p);
  }
}

void NewDelete(long count) {
  for (long i = 0; i < count; ++i) {
    char* p = new char[64];
    Keep(p);
    delete[] p;
  }
}

void LockUnlock(long count) {
  static std::mutex mutex;
  for (long i = 0; i < count; ++i) {
    const std::lock_guard lock(mutex);
    Keep(&mutex);
  }
}

#ifdef WITH_LIBWHEREFORE
void SpanScope(long count) {
  wherefore::SpanContext span{};
  span.trace_id[0] = 1;
  span.span_id[0] = 2;
  for (long i = 0; i < count; ++i) {
    const wherefore::SpanScope scope(span);
    Keep(&span);
  }
}

void LabelScope(long count) {
  static const wherefore::LabelKey route("http.route");
  for (long i = 0; i < count; ++i) {
    const wherefore::LabelScope scope(route, "/items/{id}");
    Keep(&count);
  }
}
#endif

struct Named {
  const char* name;
  Operation operation;
};
constexpr Named kOperations[] = {
    {"malloc", MallocFree}, {"new", NewDelete},    {"lock", LockUnlock},
#ifdef WITH_LIBWHEREFORE
    {"span", SpanScope},    {"label", LabelScope},
#endif
};

double Nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec) * 1e9) + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const auto* found = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Named& named) { return argc == 4 && std::strcmp(named.name, argv[1]) == 0; });
  const long count = argc == 4 ? std::atol(argv[2]) : 0;
  const long times = argc == 4 ? std::atol(argv[3]) : 0;
  if (found == std::end(kOperations) || count < 1 || times < 1) {
    std::fprintf(stderr, "usage: sdk_micro OPERATION COUNT TIMES; operations:");
    for (const Named& named : kOperations) std::fprintf(stderr, " %s", named.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  double best = std::numeric_limits<double>::max();
  for (long i = 0; i < times; ++i) {
    const double start = Nanoseconds();
    found->operation(count);
    best = std::min(best, (Nanoseconds() - start) / static_cast<double>(count));
  }
  std::printf("%.2f\n", best);
  return 0;
}
