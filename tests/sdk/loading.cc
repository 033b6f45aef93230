// A program that loads and unloads libraries while its other threads allocate.
//
//   loading SECONDS
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_stop{false};

void Allocate() {
  void* volatile kept = nullptr;
  for (std::size_t i = 0; !g_stop; ++i) {
    std::free(kept);
    kept = std::malloc(1 + i * 64 % 100'000);
  }
  std::free(kept);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(Allocate);
  int loads = 0;
  while (std::chrono::steady_clock::now() < until) {
    void* const library =
        dlopen(loads++ % 2 == 0 ? "libresolv.so.2" : "libBrokenLocale.so.1", RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "loading: %s\n", dlerror());
      return 1;
    }
    dlclose(library);
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d\n", loads);
}
