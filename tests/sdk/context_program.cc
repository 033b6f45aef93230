// A program for a reader outside to look at: works for a known span with a known label and waits.
// Linked against libwherefore (shared or static), or, with PRELOADED, not at all: then it finds the
// functions at run time.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "lookup.h"
#include "wherefore/wherefore.h"

#ifdef PRELOADED
#define CALL(name) PRELOADED_FUNCTION(name)
#else
#define CALL(name) (&name)
#endif

namespace {

void Work(unsigned char first) {
  wherefore_span_context span{};
  for (int i = 0; i < 16; ++i) span.trace_id[i] = static_cast<unsigned char>(first + i);
  for (int i = 0; i < 8; ++i) span.span_id[i] = static_cast<unsigned char>(first + 0x40 + i);
  span.flags = 1;
  wherefore_saved_span saved;
  CALL(wherefore_span_enter)(&span, &saved);
  const int key = CALL(wherefore_label_key)("http.route");
  const int label = CALL(wherefore_label_enter)(key, "/items", 6);
  std::printf("%d\n", gettid());
  std::fflush(stdout);
  char line[8];
  if (std::fgets(line, sizeof line, stdin) == nullptr) return;
  CALL(wherefore_label_leave)(label);
  CALL(wherefore_span_leave)(&saved);
}

}  // namespace

int main() {
#ifndef PRELOADED
  wherefore_options options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.service_name = "svc";
  std::printf("%s\n", wherefore_status_text(wherefore_start(&options)));
#else
  std::printf("%s\n", CALL(wherefore_running)() != 0 ? "fine" : "not running");
#endif
  std::thread(Work, 0x10).join();  // a thread of its own, then the main one
  Work(0x20);
  return 0;
}
