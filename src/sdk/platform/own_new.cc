// operator new and delete of the shared library's own code, which the linker puts in place of the
// public ones (library.cmake, --wrap) everywhere in it, our copy of the C++ library included.
//
// The public ones belong to the host. What its operator new throws when memory is out is raised by
// its unwinder, and no catch of ours, which has another, can stop it: the host would be aborted.
// Also, what the profiler allocates never meets the host's allocator hooks or counts as the host's.
//
// Any thread. Memory that came from here goes back here; nothing of it crosses the C ABI.
#include <cstddef>
#include <new>

#include "sdk/platform/next_function.h"

namespace {

using wherefore::sdk::CallNext;

void* Own(std::size_t size) {
  return CallNext<"malloc", void*>(size > 0 ? size : 1);
}
void* Own(std::size_t size, std::align_val_t alignment) {
  const auto by = static_cast<std::size_t>(alignment);
  return CallNext<"aligned_alloc", void*>(by, (size + by - 1) / by * by);
}
void* OrThrow(void* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void Free(void* pointer) {
  CallNext<"free", void>(pointer);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {
using std::align_val_t;
using std::nothrow_t;
using std::size_t;
void* __wrap__Znwm(size_t n) {
  return OrThrow(Own(n));
}
void* __wrap__Znam(size_t n) {
  return OrThrow(Own(n));
}
void* __wrap__ZnwmSt11align_val_t(size_t n, align_val_t a) {
  return OrThrow(Own(n, a));
}
void* __wrap__ZnamSt11align_val_t(size_t n, align_val_t a) {
  return OrThrow(Own(n, a));
}
void* __wrap__ZnwmRKSt9nothrow_t(size_t n, const nothrow_t&) noexcept {
  return Own(n);
}
void* __wrap__ZnamRKSt9nothrow_t(size_t n, const nothrow_t&) noexcept {
  return Own(n);
}
void __wrap__ZdlPv(void* p) noexcept {
  Free(p);
}
void __wrap__ZdaPv(void* p) noexcept {
  Free(p);
}
void __wrap__ZdlPvm(void* p, size_t) noexcept {
  Free(p);
}
void __wrap__ZdaPvm(void* p, size_t) noexcept {
  Free(p);
}
void __wrap__ZdlPvSt11align_val_t(void* p, align_val_t) noexcept {
  Free(p);
}
void __wrap__ZdaPvSt11align_val_t(void* p, align_val_t) noexcept {
  Free(p);
}
void __wrap__ZdlPvmSt11align_val_t(void* p, size_t, align_val_t) noexcept {
  Free(p);
}
void __wrap__ZdaPvmSt11align_val_t(void* p, size_t, align_val_t) noexcept {
  Free(p);
}
void __wrap__ZdlPvRKSt9nothrow_t(void* p, const nothrow_t&) noexcept {
  Free(p);
}
void __wrap__ZdaPvRKSt9nothrow_t(void* p, const nothrow_t&) noexcept {
  Free(p);
}
}
// NOLINTEND(bugprone-reserved-identifier)
