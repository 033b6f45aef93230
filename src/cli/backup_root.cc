#include "cli/backup_root.h"

#include <fmt/format.h>

namespace wherefore::cli {
namespace {

namespace fs = std::filesystem;

// Both paths without links and "..".
bool IsWithin(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

Result<fs::path> RealPath(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (!error) return real;
  return Error(Code::kInvalid, fmt::format("{}: {}", path.string(), error.message()));
}

// Follows links as far as the path exists. A dangling link is an error: whoever creates its target
// later would decide where we write.
Result<fs::path> RealPathOfNew(const fs::path& path) {
  fs::path existing;
  for (auto part = path.begin(); part != path.end(); ++part) {
    std::error_code error;
    if (fs::symlink_status(existing / *part, error).type() == fs::file_type::not_found) {
      fs::path rest;
      for (; part != path.end(); ++part) rest /= *part;
      return (existing / rest).lexically_normal();
    }
    WHEREFORE_ASSIGN_OR_RETURN(existing, RealPath(existing / *part));
  }
  return existing;
}

}  // namespace

Result<BackupRoot> BackupRoot::Open(const std::string& root, const std::string& data) {
  BackupRoot out;
  WHEREFORE_ASSIGN_OR_RETURN(out.root_, RealPath(root));
  WHEREFORE_ASSIGN_OR_RETURN(out.data_, RealPath(data));
  if (IsWithin(out.root_, out.data_)) {
    return Error(Code::kInvalid,
                 fmt::format("--backup-root {} lies in the data directory {}", root, data));
  }
  return out;
}

Result<std::string> BackupRoot::Resolve(const std::string& target) const {
  if (root_.empty()) {
    return Error(Code::kUnsupported,
                 "this server writes no backups: start it with --backup-root FOLDER, below which "
                 "they may lie");
  }
  if (target.empty() || target.find('\0') != std::string::npos) {
    return Error(Code::kInvalid, "parameter 'target': expected the name of a new folder");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const fs::path real, RealPathOfNew(root_ / target));
  if (real == root_ || !IsWithin(real, root_)) {
    return Error(Code::kInvalid, fmt::format("parameter 'target': {} is not below {}, the server's "
                                             "--backup-root",
                                             target, root_.string()));
  }
  if (IsWithin(real, data_)) {
    return Error(Code::kInvalid,
                 fmt::format("parameter 'target': {} lies in the data directory", target));
  }
  return real.string();
}

}  // namespace wherefore::cli
