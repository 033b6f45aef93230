// Requests that compile their regular expression each time (planted) or once (mended).
//
//   regex planted|mended REQUESTS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>

#include <wherefore/profiler.h>

namespace {

constexpr char kRoute[] = "/(orders|carts|customers)/([0-9]+)(/lines/([0-9]+))?";

[[gnu::noinline]] bool Matches(const std::string& path, bool planted) {
  static const std::regex once(kRoute);
  if (!planted) return std::regex_match(path, once);
  const std::regex each(kRoute);
  return std::regex_match(path, each);
}

// What the request is for.
[[gnu::noinline]] unsigned Price(const std::string& path) {
  unsigned sum = 0;
  for (int round = 0; round < 1600; ++round) {
    for (const char c : path) sum = (sum * 31) + static_cast<unsigned char>(c);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool planted = std::strcmp(argv[1], "planted") == 0;
  const long requests = std::atol(argv[2]);
  const wherefore::Profiler profiler = wherefore::Profiler::Start();
  unsigned sum = 0;
  for (long i = 0; i < requests; ++i) {
    const std::string path = "/orders/" + std::to_string(i) + "/lines/1";
    if (!Matches(path, planted)) return 1;
    sum += Price(path);
  }
  std::printf("%u\n", sum);
  return 0;
}
