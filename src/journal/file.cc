// See file.h.
#include "journal/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace wherefore::journal {

Error ErrnoError(int error, std::string_view what, std::string_view path) {
  const bool may_heal = error == ENOSPC || error == EROFS || error == EDQUOT || error == EFBIG;
  return {may_heal ? Code::kUnavailable : Code::kIo,
          fmt::format("{} {}: {}", what, path, std::generic_category().message(error))};
}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}
File::~File() {
  if (fd_ >= 0) close(fd_);
}

Result<File> File::Open(const std::string& path, int flags) {
  File file;
  file.path_ = path;
  file.fd_ = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file.fd_ < 0) return ErrnoError(errno, "cannot open", path);
  return file;
}

Result<> File::WriteAt(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "cannot write", path_);
    }
    if (written == 0) return ErrnoError(ENOSPC, "cannot write", path_);
    offset += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> File::ReadAt(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got =
        pread(fd_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(offset + at));
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "cannot read", path_);
    }
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

Result<> File::Truncate(std::uint64_t size) {
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0)
    return ErrnoError(errno, "cannot truncate", path_);
  return {};
}

Result<> File::SyncData() {
  if (fdatasync(fd_) != 0) return ErrnoError(errno, "cannot sync", path_);
  return {};
}

Result<> SyncDirectory(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const File directory, File::Open(path, O_RDONLY | O_DIRECTORY));
  if (fsync(directory.fd()) != 0) return ErrnoError(errno, "cannot sync", path);
  return {};
}

Result<> SyncFileSystem(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const File directory, File::Open(path, O_RDONLY | O_DIRECTORY));
  if (syncfs(directory.fd()) != 0) return ErrnoError(errno, "cannot sync", path);
  return {};
}

Result<> MakePrivate(const std::string& directory) {
  namespace fs = std::filesystem;
  constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
  std::error_code error;
  if ((fs::status(directory, error).permissions() & kOthers) == fs::perms::none) return {};
  fs::permissions(directory, kOthers, fs::perm_options::remove, error);
  if (error) return ErrnoError(error.value(), "cannot make private", directory);
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    // A link's own mode is meaningless, and its target may be somebody else's.
    std::error_code ignored;  // a crash log of the engine may disappear meanwhile
    if (!it->is_symlink(ignored)) fs::permissions(*it, kOthers, fs::perm_options::remove, ignored);
  }
  return {};
}

Result<std::string> ReadWholeFile(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const File file, File::Open(path, O_RDONLY));
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return ErrnoError(error.value(), "cannot read", path);
  return file.ReadAt(0, size);
}

Result<> ReplaceFile(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  {
    WHEREFORE_ASSIGN_OR_RETURN(File file, File::Open(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    WHEREFORE_RETURN_IF_ERROR(file.WriteAt(0, content));
    WHEREFORE_RETURN_IF_ERROR(file.SyncData());
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) return ErrnoError(error.value(), "cannot rename", temporary);
  return SyncDirectory(std::filesystem::path(path).parent_path());
}

}  // namespace wherefore::journal
