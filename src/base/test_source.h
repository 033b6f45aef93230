// Paths of the repository's own files, for tests that read golden files. ctest and tools/sanitize
// set WHEREFORE_SOURCE_DIR; a test program started by hand reads below the current folder.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace wherefore {

inline std::string TestSource(std::string_view path_in_repository) {
  const char* root = std::getenv("WHEREFORE_SOURCE_DIR");
  return std::string(root == nullptr ? "." : root) + "/" + std::string(path_in_repository);
}

}  // namespace wherefore
