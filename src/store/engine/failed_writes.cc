#include "store/engine/failed_writes.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"

namespace wherefore::store {
namespace {

std::atomic<const void*> g_library{nullptr};  // where the engine's library begins
std::atomic<std::uint64_t> g_count{0};

struct Noted {
  Mutex mutex;
  FailedWrites failed GUARDED_BY(mutex);
  std::string last GUARDED_BY(mutex);
};
// Never destroyed: the engine's threads outlive main.
Noted& GetNoted() {
  static auto* const kNoted = new Noted;
  return *kNoted;
}

const void* LibraryOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

[[maybe_unused]] void NoteFailure(int fd, std::string_view bytes, int error, const void* caller) {
  const void* library = g_library.load();
  if (library == nullptr || LibraryOf(caller) != library) return;
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  std::error_code unreadable;
  const std::filesystem::path path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), unreadable);
  Noted& noted = GetNoted();
  MutexLock lock(noted.mutex);
  noted.failed.folders.insert(path.parent_path());
  if (path.parent_path().filename() == kTokenFolder) noted.failed.token_lines[path] += bytes;
  noted.last =
      fmt::format("cannot write {}: {}", path.native(), std::generic_category().message(error));
  g_count.fetch_add(1);
}

}  // namespace

void WatchWritesOf(const void* function_of_library) {
  g_library.store(LibraryOf(function_of_library));
}

std::uint64_t FailedWriteCount() {
  return g_count.load();
}

std::string LastFailedWrite() {
  Noted& noted = GetNoted();
  MutexLock lock(noted.mutex);
  return noted.last;
}

FailedWrites TakeFailedWrites() {
  Noted& noted = GetNoted();
  MutexLock lock(noted.mutex);
  return std::exchange(noted.failed, {});
}

void ReturnFailedWrites(FailedWrites failed) {
  Noted& noted = GetNoted();
  MutexLock lock(noted.mutex);
  FailedWrites& now = noted.failed;
  now.folders.merge(failed.folders);
  for (auto& [path, lines] : failed.token_lines) now.token_lines[path].insert(0, lines);
}

}  // namespace wherefore::store

#ifndef WHEREFORE_UNWATCHED_WRITES
namespace {

using WriteFunction = ssize_t (*)(int, const void*, size_t);
std::atomic<WriteFunction> g_next_write{nullptr};

// Before main, so that no signal handler is the first to ask.
__attribute__((constructor)) void FindNextWrite() {
  g_next_write.store(reinterpret_cast<WriteFunction>(dlsym(RTLD_NEXT, "write")));
}

}  // namespace

// The executable's definition is found before the C library's, also by libraries loaded later. The
// next one may be a profiler's and is called, not the kernel.
extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes,
                                                                size_t size) {
  const WriteFunction next = g_next_write.load(std::memory_order_relaxed);
  const ssize_t written =
      next != nullptr ? next(fd, bytes, size) : syscall(SYS_write, fd, bytes, size);
  if (written < 0 && errno != EINTR && errno != EAGAIN) {
    const int error = errno;
    wherefore::store::NoteFailure(fd, {static_cast<const char*>(bytes), size}, error,
                                  __builtin_return_address(0));
    errno = error;
  }
  return written;
}
#endif
