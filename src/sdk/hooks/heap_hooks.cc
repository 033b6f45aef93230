// malloc and its family, as the host program calls them.
//
// Always: what the host gets is what its own allocator gave; errno is the allocator's. The fast
// path is one subtraction (allocating) or one load (freeing). Any thread, also before main and
// after exit.
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "sdk/platform/next_function.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/heap_sampler.h"

namespace wherefore::sdk {
namespace {

// Counts an allocation that was made.
[[gnu::always_inline]] inline void* Count(void* pointer, std::size_t size) {
  if (CountDown(size)) [[unlikely]]
    OnAllocated(pointer, size);
  return pointer;
}

// Calls a function of the real allocator, as one allocation whatever it calls in turn.
template <typename Call>
[[gnu::always_inline]] inline auto Alone(Call call) {
  const NotCounting within;
  return call();
}

template <typename Allocate>
[[gnu::always_inline]] inline void* Counted(std::size_t size, Allocate allocate) {
  return Count(Alone(allocate), size);
}

// What the block was, if it was sampled: to be put back when moving it fails.
[[gnu::always_inline]] inline HeapTable::Removed Forget(void* pointer) {
  if (g_heap_table.MayHold(pointer)) [[unlikely]]
    return OnFree(pointer);
  return {};
}

}  // namespace
}  // namespace wherefore::sdk

using wherefore::sdk::Alone;
using wherefore::sdk::CallNext;
using wherefore::sdk::Count;
using wherefore::sdk::Counted;
using wherefore::sdk::Forget;
using wherefore::sdk::g_heap_table;
using wherefore::sdk::HeapTable;

extern "C" {

// Not by Counted: the usual case of the most frequent call is a jump to the real one, and no
// allocator's malloc calls itself by its public name.
[[gnu::section("wherefore_hooks"), gnu::noinline]] static void* SampledMalloc(
    std::size_t size) noexcept {
  void* pointer = CallNext<"malloc", void*>(size);
  wherefore::sdk::OnAllocated(pointer, size);
  return pointer;
}

WHEREFORE_HOOK void* malloc(std::size_t size) noexcept {
  if (wherefore::sdk::CountDown(size)) [[unlikely]]
    return SampledMalloc(size);
  return CallNext<"malloc", void*>(size);
}

WHEREFORE_HOOK void free(void* pointer) noexcept {
  Forget(pointer);
  CallNext<"free", void>(pointer);
}

WHEREFORE_HOOK void* calloc(std::size_t count, std::size_t size) noexcept {
  return Counted(count * size, [=] { return CallNext<"calloc", void*>(count, size); });
}

WHEREFORE_HOOK void* realloc(void* old, std::size_t size) noexcept {
  const HeapTable::Removed sampled = Forget(old);
  void* pointer = Alone([=] { return CallNext<"realloc", void*>(old, size); });
  if (pointer == nullptr && size > 0 && sampled.slot != HeapTable::kNone) {
    // The block stays where it was and gets a new slot. The old slot's id is gone, so its bytes
    // leave the in-use profile early: rare, and it never shows a leak where there is none.
    g_heap_table.Insert(old, sampled.id, sampled.weight);
  }
  return Count(pointer, size);
}

WHEREFORE_HOOK void* reallocarray(void* old, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, bytes);
}

WHEREFORE_HOOK void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return Counted(size, [=] { return CallNext<"memalign", void*>(alignment, size); });
}

WHEREFORE_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return Counted(size, [=] { return CallNext<"aligned_alloc", void*>(alignment, size); });
}

WHEREFORE_HOOK int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  const int error = Alone([=] { return CallNext<"posix_memalign", int>(result, alignment, size); });
  if (error == 0) Count(*result, size);
  return error;
}

WHEREFORE_HOOK void* valloc(std::size_t size) noexcept {
  return Counted(size, [=] { return CallNext<"valloc", void*>(size); });
}

WHEREFORE_HOOK void* pvalloc(std::size_t size) noexcept {
  return Counted(size, [=] { return CallNext<"pvalloc", void*>(size); });
}

}  // extern "C"
