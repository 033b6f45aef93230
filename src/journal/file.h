// A file descriptor that closes itself, and the system calls the log needs, with errno in the
// error.
//
// kUnavailable for a full or read-only disk (it may recover), kIo for the rest. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace wherefore::journal {

class File {
 public:
  File() = default;
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] static Result<File> Open(const std::string& path, int flags);
  // Writes all of `bytes` at `offset`, or fails.
  Result<> WriteAt(std::uint64_t offset, std::string_view bytes);
  // Up to `size` bytes; fewer at the end of the file.
  [[nodiscard]] Result<std::string> ReadAt(std::uint64_t offset, std::size_t size) const;
  Result<> Truncate(std::uint64_t size);
  Result<> SyncData();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int fd_ = -1;
  std::string path_;
};

[[nodiscard]] Error ErrnoError(int error, std::string_view what, std::string_view path);
[[nodiscard]] Result<> SyncDirectory(const std::string& path);
// Syncs the file system that holds `path`: everything written so far is on disk afterwards.
[[nodiscard]] Result<> SyncFileSystem(const std::string& path);
// Makes `directory` accessible to its owner only and, if it was not before, its contents too.
[[nodiscard]] Result<> MakePrivate(const std::string& directory);
[[nodiscard]] Result<std::string> ReadWholeFile(const std::string& path);
// Replaces a small file atomically: after a crash it is either the old or the new one.
[[nodiscard]] Result<> ReplaceFile(const std::string& path, std::string_view content);

}  // namespace wherefore::journal
