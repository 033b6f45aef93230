// A program without a dynamic linker: computes and waits for a known span, in a thread of its own. Threads are
// found within a second there, so it computes for longer.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <thread>

#include "wherefore/profiler.h"
#include "wherefore/wherefore.h"

namespace {

volatile double g_sink;

[[gnu::noinline]] void SpinHere() {
  const std::time_t end = std::time(nullptr) + 4;
  while (std::time(nullptr) < end) {
    for (int i = 0; i < 1'000'000; ++i) g_sink = g_sink + i * 0.5;
  }
}
[[gnu::noinline]] void WaitHere() {
  usleep(1'500'000);
  g_sink = 1;
}

}  // namespace

int main() {
  wherefore::Options options;
  options.service_name = "svc";
  const auto profiler = wherefore::Profiler::Start(options);
  std::thread([] {
    wherefore_span_context span{};
    for (int i = 0; i < 16; ++i) span.trace_id[i] = static_cast<unsigned char>(0x90 + i);
    for (int i = 0; i < 8; ++i) span.span_id[i] = static_cast<unsigned char>(0xc0 + i);
    wherefore_saved_span saved;
    wherefore_span_enter(&span, &saved);
    SpinHere();
    WaitHere();
    wherefore_span_leave(&saved);
  }).join();
  std::printf("%d\n", profiler.status());
  return 0;
}
