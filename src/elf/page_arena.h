// PageArena: memory straight from the kernel, for places where no allocator may be called.
//
// Blocks are freed together, with the arena. One thread.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace wherefore::elf {

class PageArena {
 public:
  PageArena() = default;
  ~PageArena() { Clear(); }
  PageArena(const PageArena&) = delete;
  PageArena& operator=(const PageArena&) = delete;

  // Aligned for any type. Null if the kernel has no memory.
  [[nodiscard]] void* Take(std::size_t size) {
    size = (size + 15) & ~std::size_t{15};
    if (size > left_ && !AddBlock(size)) return nullptr;
    void* const taken = next_;
    next_ += size;
    left_ -= size;
    return taken;
  }

  // Whether any Take() failed.
  [[nodiscard]] bool exhausted() const { return exhausted_; }

  void Clear() {
    while (block_ != nullptr) {
      Block* const before = block_->before;
      munmap(block_, block_->size);
      block_ = before;
    }
    left_ = 0;
  }

 private:
  struct alignas(16) Block {
    Block* before = nullptr;
    std::size_t size = 0;
  };
  static constexpr std::size_t kBlockBytes = 256U << 10U;

  bool AddBlock(std::size_t size) {
    const std::size_t bytes = std::max(kBlockBytes, size + sizeof(Block));
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    exhausted_ = exhausted_ || memory == MAP_FAILED;
    if (memory == MAP_FAILED) return false;
    block_ = new (memory) Block{.before = block_, .size = bytes};
    next_ = static_cast<std::uint8_t*>(memory) + sizeof(Block);
    left_ = bytes - sizeof(Block);
    return true;
  }

  Block* block_ = nullptr;
  std::uint8_t* next_ = nullptr;
  std::size_t left_ = 0;
  bool exhausted_ = false;
};

}  // namespace wherefore::elf
