// CallNext: the function behind one of our hooks, that is, what the host program would have called
// without us: libc's, jemalloc's, tcmalloc's, whichever comes next in the link order.
//
// Looked up at the first call and kept, so hooks work before any constructor ran. Any thread; no
// locks of ours. A function that does not exist answers with ENOSYS or null.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <type_traits>

namespace wherefore::sdk {

// A name as a template argument; with '@' a version: "pthread_cond_wait@GLIBC_2.3.2", where a plain
// lookup would give an older one.
template <std::size_t N>
struct Symbol {
  char text[N] = {};
  // NOLINTNEXTLINE(google-explicit-constructor): so that a literal can be written
  constexpr Symbol(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

// Returns `missing` when there is no such function. `for_now` becomes true when the result is only
// good for the lookup that is in progress on this thread, and must not be kept.
void* FindNext(const char* symbol, void* missing, bool* for_now = nullptr);

template <Symbol Name, bool Throws, typename R, typename... Args>
class NextFunction {
 public:
  using Pointer = R (*)(Args...) noexcept(!Throws);

  [[gnu::always_inline]] static Pointer Get() {
    const Pointer found = __atomic_load_n(&g_found, __ATOMIC_RELAXED);
    return found != nullptr ? found : Find();
  }

 private:
  [[gnu::noinline, gnu::cold]] static Pointer Find() {
    bool for_now = false;
    const auto found =
        reinterpret_cast<Pointer>(FindNext(Name.text, reinterpret_cast<void*>(&Missing), &for_now));
    if (!for_now) __atomic_store_n(&g_found, found, __ATOMIC_RELAXED);
    return found;
  }
  static R Missing(Args... /*args*/) noexcept {
    if constexpr (std::is_pointer_v<R>) {
      return nullptr;
    } else if constexpr (!std::is_void_v<R>) {
      return ENOSYS;
    }
  }
  static constinit inline Pointer g_found = nullptr;
};

template <Symbol Name, typename R, typename... Args>
[[gnu::always_inline]] inline R CallNext(Args... args) {
  return NextFunction<Name, false, R, Args...>::Get()(args...);
}

// For functions that throw, or through which a cancelled thread is unwound.
template <Symbol Name, typename R, typename... Args>
[[gnu::always_inline]] inline R CallNextThrowing(Args... args) {
  return NextFunction<Name, true, R, Args...>::Get()(args...);
}

}  // namespace wherefore::sdk
