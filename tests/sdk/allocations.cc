// Every way to allocate memory, each many times with a block large enough to be always sampled and
// counted as exactly one, so that double counting shows. Before that, every function that throws is
// asked for more than there is: the exception must arrive, and counting must go on.
#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

constexpr int kTimes = 16;
constexpr std::size_t kBytes = 64 << 20;
constexpr std::align_val_t kAligned{128};

void Keep(void* pointer) {
  if (pointer == nullptr) std::abort();
  asm volatile("" ::"r"(pointer) : "memory");
}

template <typename Allocate, typename Free>
[[gnu::always_inline]] inline void Repeat(Allocate allocate, Free free) {
  for (int i = 0; i < kTimes; ++i) {
    void* const pointer = allocate();
    Keep(pointer);
    free(pointer);
  }
}

}  // namespace

#define WAY(name, allocate, release)                                                     \
  extern "C" [[gnu::noinline]] void name() {                                             \
    Repeat([] { return static_cast<void*>(allocate); }, [](void* pointer) { release; }); \
  }

WAY(PlainNew, operator new(kBytes), operator delete(pointer))
WAY(ArrayNew, operator new[](kBytes), operator delete[](pointer))
WAY(NothrowNew, operator new(kBytes, std::nothrow), operator delete(pointer, std::nothrow))
WAY(NothrowArrayNew, operator new[](kBytes, std::nothrow), operator delete[](pointer, std::nothrow))
WAY(AlignedNew, operator new(kBytes, kAligned), operator delete(pointer, kAligned))
WAY(AlignedArrayNew, operator new[](kBytes, kAligned), operator delete[](pointer, kAligned))
WAY(AlignedNothrowNew, operator new(kBytes, kAligned, std::nothrow),
                       operator delete(pointer, kAligned))
WAY(AlignedNothrowArrayNew, operator new[](kBytes, kAligned, std::nothrow),
                            operator delete[](pointer, kAligned))
WAY(PlainMalloc, std::malloc(kBytes), std::free(pointer))
WAY(PlainCalloc, std::calloc(2, kBytes / 2), std::free(pointer))
WAY(PlainRealloc, std::realloc(nullptr, kBytes), std::free(pointer))
WAY(AlignedAlloc, std::aligned_alloc(128, kBytes), std::free(pointer))
WAY(Memalign, memalign(128, kBytes), std::free(pointer))
WAY(Valloc, valloc(kBytes), std::free(pointer))

extern "C" [[gnu::noinline]] void PosixMemalign() {
  for (int i = 0; i < kTimes; ++i) {
    void* pointer = nullptr;
    if (posix_memalign(&pointer, 128, kBytes) != 0) std::abort();
    Keep(pointer);
    std::free(pointer);
  }
}

template <typename Allocate>
void ExpectRefused(Allocate allocate) {
  static volatile std::size_t too_much = std::size_t{1} << 62;
  try {
    Keep(allocate(too_much));
  } catch (const std::bad_alloc&) {
    return;
  }
  std::abort();
}

int main() {
  ExpectRefused([](std::size_t size) { return operator new(size); });
  ExpectRefused([](std::size_t size) { return operator new[](size); });
  ExpectRefused([](std::size_t size) { return operator new(size, kAligned); });
  ExpectRefused([](std::size_t size) { return operator new[](size, kAligned); });
  PlainNew();
  ArrayNew();
  NothrowNew();
  NothrowArrayNew();
  AlignedNew();
  AlignedArrayNew();
  AlignedNothrowNew();
  AlignedNothrowArrayNew();
  PlainMalloc();
  PlainCalloc();
  PlainRealloc();
  AlignedAlloc();
  Memalign();
  Valloc();
  PosixMemalign();
  std::exit(0);  // no tail call out of main
}
