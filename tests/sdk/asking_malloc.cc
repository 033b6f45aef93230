// An allocator, to be preloaded after libwherefore, that calls the loader while it holds its own
// lock, as some do when they grow. Code that holds the loader's lock and asks it for memory
// deadlocks.
#include <link.h>
#include <pthread.h>

#include <cstddef>

// NOLINTBEGIN(bugprone-reserved-identifier): glibc's own allocator under its second names
extern "C" void* __libc_malloc(std::size_t size) noexcept;
extern "C" void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
extern "C" void* __libc_realloc(void* old, std::size_t size) noexcept;
extern "C" void __libc_free(void* pointer) noexcept;
// NOLINTEND(bugprone-reserved-identifier)

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned g_calls = 0;  // guarded by the lock

class Held {
 public:
  Held() {
    pthread_mutex_lock(&g_lock);
    if (++g_calls % 8 == 0)
      dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
  }
  ~Held() { pthread_mutex_unlock(&g_lock); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  const Held held;
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  const Held held;
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  const Held held;
  return __libc_realloc(old, size);
}

// Without the lock: dlclose frees while it holds the loader's.
void free(void* pointer) noexcept {
  __libc_free(pointer);
}

}  // extern "C"
