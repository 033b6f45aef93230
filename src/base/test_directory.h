// A temporary directory for one test, removed when the test ends.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wherefore {

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
  // Tests write thousands of small files, so use memory if there is enough. A killed process leaves
  // the same bytes on either file system.
  static std::filesystem::path Fast() {
    std::error_code error;
    const auto space = std::filesystem::space("/dev/shm", error);
    const bool roomy =
        !error && space.available > (std::uintmax_t{1} << 30) && access("/dev/shm", W_OK) == 0;
    return roomy ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  }

  std::string path_;
};

// libchdb brings its own allocator and cannot be loaded into a process built with a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kEngineLoads = false;
#else
inline constexpr bool kEngineLoads = true;
#endif
#define WHEREFORE_SKIP_WITHOUT_ENGINE() \
  if (!::wherefore::kEngineLoads) GTEST_SKIP() << "the engine cannot be loaded beside a sanitizer"

}  // namespace wherefore
