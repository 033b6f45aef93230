// A temporary directory of one test, gone when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wherefore::store {

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "wherefore-store-XXXXXX";
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
  std::string path_;
};

}  // namespace wherefore::store
