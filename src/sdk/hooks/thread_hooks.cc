// pthread_create, as the host program calls it: a new thread is sampled from its first instruction.
//
// Always: the host's start routine runs with its own argument and is the thread's own outermost
// function (the detour is a tail call). Any thread.
#include <pthread.h>

#include <cstdint>
#include <cstdlib>

#include "sdk/collect/collector.h"
#include "sdk/platform/next_function.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/collector_restart.h"

namespace wherefore::sdk {
namespace {

using Routine = void* (*)(void*);

struct Beginning {
  Routine routine;
  void* argument;
  std::size_t stack_size;
  bool host_blocks;  // masks are inherited
};

// Set in every thread that entered, so that its destructor runs when the thread ends in whatever
// way.
pthread_key_t EndKey() {
  static const pthread_key_t kKey = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, [](void*) {
      if (Collector* collector = Collector::Get(); collector != nullptr) collector->OnThreadEnd();
    });
    return made;
  }();
  return kKey;
}

Beginning Enter(void* given) {
  const Busy busy;
  const Beginning beginning = *static_cast<Beginning*>(given);
  std::free(given);
  t_state.host_blocks = beginning.host_blocks;
  t_state.routine = reinterpret_cast<std::uintptr_t>(beginning.routine);
  // glibc puts the thread's descriptor at the upper end of its stack.
  const auto high = static_cast<std::uintptr_t>(pthread_self());
  if (Collector* collector = Collector::Get(); collector != nullptr) {
    collector->OnThreadStart(high - beginning.stack_size, high);
    pthread_setspecific(EndKey(), collector);
  }
  return beginning;
}

WHEREFORE_HOOK void* Begin(void* given) {
  const Beginning beginning = Enter(given);
  return beginning.routine(beginning.argument);
}

std::size_t StackSize(const pthread_attr_t* attributes) {
  std::size_t size = 0;
  if (attributes != nullptr) {
    pthread_attr_getstacksize(attributes, &size);
    return size;
  }
  pthread_attr_t defaults;
  if (pthread_getattr_default_np(&defaults) != 0) return 0;
  pthread_attr_getstacksize(&defaults, &size);
  pthread_attr_destroy(&defaults);
  return size;
}

}  // namespace
}  // namespace wherefore::sdk

extern "C" WHEREFORE_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*routine)(void*), void* argument) noexcept {
  using wherefore::sdk::Beginning;
  using wherefore::sdk::CallNext;
  if (wherefore::sdk::Collector::Get() == nullptr || wherefore::sdk::t_state.busy > 0) {
    return CallNext<"pthread_create", int>(thread, attributes, routine, argument);
  }
  const wherefore::sdk::Busy busy;
  wherefore::sdk::RestartCollectorNow();
  auto* beginning = static_cast<Beginning*>(std::malloc(sizeof(Beginning)));
  if (beginning == nullptr)
    return CallNext<"pthread_create", int>(thread, attributes, routine, argument);
  *beginning = {.routine = routine,
                .argument = argument,
                .stack_size = wherefore::sdk::StackSize(attributes),
                .host_blocks = wherefore::sdk::t_state.host_blocks};
  const int error = CallNext<"pthread_create", int>(
      thread, attributes, static_cast<void* (*)(void*)>(wherefore::sdk::Begin),
      static_cast<void*>(beginning));
  if (error != 0) std::free(beginning);
  return error;
}
