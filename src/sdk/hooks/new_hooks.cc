// operator new and delete, for allocators that bring their own (tcmalloc, jemalloc). Those of
// libstdc++ call malloc and free; so do we then, and those are hooked already.
//
// Any thread. What the real operator throws goes through us unchanged, and it is another copy of
// libgcc that unwinds then: no frame of the hooks may have a landing pad (-fno-exceptions), which
// only our own copy could enter. What has to be done on the way out is done by
// wherefore_new_unwound.
#include <dlfcn.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "sdk/platform/next_function.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/heap_sampler.h"

namespace wherefore::sdk {
namespace {

enum class Counts : std::uint8_t { kNotKnown, kInMalloc, kHere };
constinit Counts g_counts = Counts::kNotKnown;

// Whether the next operator new counts by calling malloc. A C++ library's own does.
[[gnu::noinline, gnu::cold]] Counts WhereItCounts() {
  Dl_info info{};
  void* next = FindNext("_Znwm", nullptr);
  const bool library = next == nullptr || dladdr(next, &info) == 0 || info.dli_fname == nullptr ||
                       std::strstr(info.dli_fname, "libstdc++") != nullptr ||
                       std::strstr(info.dli_fname, "libc++") != nullptr;
  g_counts = library ? Counts::kInMalloc : Counts::kHere;
  return g_counts;
}

[[gnu::always_inline]] inline bool CountsInMalloc() {
  if (g_counts == Counts::kInMalloc) [[likely]]
    return true;
  return g_counts == Counts::kNotKnown && WhereItCounts() == Counts::kInMalloc;
}

// Calls the real operator, as one allocation whatever it calls in turn.
template <Symbol Name, typename... Args>
[[gnu::always_inline]] inline void* NewAlone(std::size_t size, Args... args) {
  if (!NotCounting::IsOn()) t_state.heap_kept = t_state.heap_countdown;
  const NotCounting within;
  asm volatile(".cfi_personality 0x1b, wherefore_new_unwound");
  return CallNextThrowing<Name, void*>(size, args...);
}

template <Symbol Name, typename... Args>
[[gnu::always_inline]] inline void* New(std::size_t size, Args... args) {
  if (sizeof...(Args) == 0 && CountsInMalloc()) {
    // What a C++ library would do, without the detour; when memory is out, it throws for us.
    if (void* pointer = std::malloc(size > 0 ? size : 1); pointer != nullptr) [[likely]]
      return pointer;
  }
  const bool counts_here = !CountsInMalloc();
  void* pointer =
      counts_here ? NewAlone<Name>(size, args...) : CallNextThrowing<Name, void*>(size, args...);
  // A host in C has no operator new behind ours; the library's own calls must not get a null.
  constexpr bool kMayBeNull = (std::is_same_v<Args, const std::nothrow_t*> || ...);
  if (pointer == nullptr && !kMayBeNull) [[unlikely]]
    std::__throw_bad_alloc();
  if (counts_here && CountDown(size)) [[unlikely]]
    OnAllocated(pointer, size);
  return pointer;
}

template <Symbol Name, typename... Args>
[[gnu::always_inline]] inline void Delete(void* pointer, Args... args) {
  if (CountsInMalloc()) [[likely]]
    return std::free(pointer);
  if (g_heap_table.MayHold(pointer)) [[unlikely]]
    OnFree(pointer);
  CallNext<Name, void>(pointer, args...);
}

}  // namespace
}  // namespace wherefore::sdk

// The personality of NewAlone's frames: called by whoever unwinds them, it does what the destructor
// would have done, and never asks for the frame to be entered.
extern "C" [[gnu::visibility("hidden"), gnu::used]] _Unwind_Reason_Code wherefore_new_unwound(
    int /*version*/, _Unwind_Action actions, _Unwind_Exception_Class /*kind*/,
    _Unwind_Exception* /*thrown*/, _Unwind_Context* /*frame*/) {
  using wherefore::sdk::t_state;
  if ((actions & _UA_CLEANUP_PHASE) != 0) t_state.heap_countdown = t_state.heap_kept;
  return _URC_CONTINUE_UNWIND;
}

using std::align_val_t;
using std::nothrow_t;
using std::size_t;
using wherefore::sdk::Delete;
using wherefore::sdk::New;

WHEREFORE_HOOK void* operator new(size_t n) {
  return New<"_Znwm">(n);
}
WHEREFORE_HOOK void* operator new[](size_t n) {
  return New<"_Znam">(n);
}
WHEREFORE_HOOK void* operator new(size_t n, const nothrow_t& t) noexcept {
  return New<"_ZnwmRKSt9nothrow_t">(n, &t);
}
WHEREFORE_HOOK void* operator new[](size_t n, const nothrow_t& t) noexcept {
  return New<"_ZnamRKSt9nothrow_t">(n, &t);
}
WHEREFORE_HOOK void* operator new(size_t n, align_val_t a) {
  return New<"_ZnwmSt11align_val_t">(n, a);
}
WHEREFORE_HOOK void* operator new[](size_t n, align_val_t a) {
  return New<"_ZnamSt11align_val_t">(n, a);
}
WHEREFORE_HOOK void* operator new(size_t n, align_val_t a, const nothrow_t& t) noexcept {
  return New<"_ZnwmSt11align_val_tRKSt9nothrow_t">(n, a, &t);
}
WHEREFORE_HOOK void* operator new[](size_t n, align_val_t a, const nothrow_t& t) noexcept {
  return New<"_ZnamSt11align_val_tRKSt9nothrow_t">(n, a, &t);
}
WHEREFORE_HOOK void operator delete(void* p) noexcept {
  Delete<"_ZdlPv">(p);
}
WHEREFORE_HOOK void operator delete[](void* p) noexcept {
  Delete<"_ZdaPv">(p);
}
WHEREFORE_HOOK void operator delete(void* p, size_t n) noexcept {
  Delete<"_ZdlPvm">(p, n);
}
WHEREFORE_HOOK void operator delete[](void* p, size_t n) noexcept {
  Delete<"_ZdaPvm">(p, n);
}
WHEREFORE_HOOK void operator delete(void* p, const nothrow_t& t) noexcept {
  Delete<"_ZdlPvRKSt9nothrow_t">(p, &t);
}
WHEREFORE_HOOK void operator delete[](void* p, const nothrow_t& t) noexcept {
  Delete<"_ZdaPvRKSt9nothrow_t">(p, &t);
}
WHEREFORE_HOOK void operator delete(void* p, align_val_t a) noexcept {
  Delete<"_ZdlPvSt11align_val_t">(p, a);
}
WHEREFORE_HOOK void operator delete[](void* p, align_val_t a) noexcept {
  Delete<"_ZdaPvSt11align_val_t">(p, a);
}
WHEREFORE_HOOK void operator delete(void* p, size_t n, align_val_t a) noexcept {
  Delete<"_ZdlPvmSt11align_val_t">(p, n, a);
}
WHEREFORE_HOOK void operator delete[](void* p, size_t n, align_val_t a) noexcept {
  Delete<"_ZdaPvmSt11align_val_t">(p, n, a);
}
