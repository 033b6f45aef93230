// The last line of defence of the memory budget: operator new throws std::bad_alloc for a large
// block that does not fit. That costs one request, where the kernel would kill the process.
//
// Whatever grows without bound does so in large blocks, so small ones are not checked. Replaces the
// program's operator new; ClickHouse has an allocator and a limit of its own.
#include <cstdlib>
#include <new>

#include "base/memory_budget.h"

namespace {

constexpr std::size_t kLarge = 1u << 20;

void* Allocate(std::size_t bytes) noexcept {
  if (bytes >= kLarge && !wherefore::MemoryBudget::Process().HasRoom(bytes)) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* AllocateOrThrow(std::size_t bytes) {
  void* const block = Allocate(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return AllocateOrThrow(bytes);
}
void* operator new[](std::size_t bytes) {
  return AllocateOrThrow(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes);
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
