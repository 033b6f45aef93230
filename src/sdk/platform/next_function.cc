#include "sdk/platform/next_function.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

// glibc's own allocator under its second names: for the moment in which the real one is looked up.
extern "C" void* __libc_malloc(std::size_t size) noexcept;
extern "C" void* __libc_calloc(std::size_t count, std::size_t size) noexcept;

namespace wherefore::sdk {
namespace {

thread_local constinit bool t_looking [[gnu::tls_model("initial-exec")]] = false;

void* Look(const char* symbol) {
  const char* at = std::strchr(symbol, '@');
  if (at == nullptr) return dlsym(RTLD_NEXT, symbol);
  char name[64] = {};
  std::memcpy(name, symbol,
              std::min<std::size_t>(static_cast<std::size_t>(at - symbol), sizeof name - 1));
  void* found = dlvsym(RTLD_NEXT, name, at + 1);
  return found != nullptr ? found : dlsym(RTLD_NEXT, name);
}

}  // namespace

void* FindNext(const char* symbol, void* missing, bool* for_now) {
  if (t_looking) {  // the lookup itself allocates
    if (for_now != nullptr) *for_now = true;
    if (std::strcmp(symbol, "malloc") == 0) return reinterpret_cast<void*>(&__libc_malloc);
    if (std::strcmp(symbol, "calloc") == 0) return reinterpret_cast<void*>(&__libc_calloc);
  }
  const int error = errno;
  // A lookup that fails leaves a text behind, which the next lookup frees: free comes first.
  if (std::strcmp(symbol, "free") != 0) NextFunction<"free", false, void, void*>::Get();
  t_looking = true;
  void* found = Look(symbol);
  t_looking = false;
  errno = error;
  return found != nullptr ? found : missing;
}

}  // namespace wherefore::sdk
