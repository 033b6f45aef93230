// The folder below which backups may be written on request (`serve --backup-root`).
//
// Threads: read-only once made.
// Always:  Resolve() returns a path below the root and outside the data directory, links followed.
// Failure: kUnsupported without a root, kInvalid for a target elsewhere; both name the option.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace wherefore::cli {

class BackupRoot {
 public:
  BackupRoot() = default;  // no backups
  // Both must exist. The root may contain the data directory, but not lie inside it.
  static Result<BackupRoot> Open(const std::string& root, const std::string& data);

  // The real path of `target`, which is absolute or relative to the root.
  [[nodiscard]] Result<std::string> Resolve(const std::string& target) const;

 private:
  std::filesystem::path root_;  // both without links
  std::filesystem::path data_;
};

}  // namespace wherefore::cli
