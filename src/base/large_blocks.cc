// The last line of the memory budget: a large block that does not fit into what the process may use
// is std::bad_alloc, which costs one request, where the kernel would end the process.
//
// Whatever grows without an end does so by large blocks; small ones pass unseen. Replaces the
// program's operator new; the engine has an allocator and a limit of its own.
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
