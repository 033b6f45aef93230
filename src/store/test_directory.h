// A temporary directory of one test, gone when the test ends.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wherefore::store {

class TestDirectory {
 public:
  TestDirectory() : TestDirectory(Fast()) {}
  explicit TestDirectory(const std::filesystem::path& parent) {
    std::string pattern = parent / "wherefore-store-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  // Thousands of small files: memory if there is some, as a killed process leaves the same bytes in
  // both.
  static std::filesystem::path Fast() {
    std::error_code error;
    const auto space = std::filesystem::space("/dev/shm", error);
    const bool roomy =
        !error && space.available > (std::uintmax_t{1} << 30) && access("/dev/shm", W_OK) == 0;
    return roomy ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  }

  std::string path_;
};

// libchdb brings its own allocator and cannot live in a process built with a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kEngineLoads = false;
#else
inline constexpr bool kEngineLoads = true;
#endif
#define WHEREFORE_SKIP_WITHOUT_ENGINE()  \
  if (!::wherefore::store::kEngineLoads) \
  GTEST_SKIP() << "the engine cannot be loaded beside a sanitizer"

}  // namespace wherefore::store
