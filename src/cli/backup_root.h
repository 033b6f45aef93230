// The one folder below which a request may have a backup written (`serve --backup-root`).
//
// Threads: read only once made.
// Always:  what Resolve gives lies below the root and outside the data directory, links followed.
// Failure: kUnsupported without a root, kInvalid for a target elsewhere; both name the option.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace wherefore::cli {

class BackupRoot {
 public:
  BackupRoot() = default;  // no backups at all
  // Both must exist; the root may hold the data directory, but not lie in it.
  static Result<BackupRoot> Open(const std::string& root, const std::string& data);

  // The place that `target`, absolute or below the root, really means.
  [[nodiscard]] Result<std::string> Resolve(const std::string& target) const;

 private:
  std::filesystem::path root_;  // both without links
  std::filesystem::path data_;
};

}  // namespace wherefore::cli
