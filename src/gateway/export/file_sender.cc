// Requests appended to a file: JSON, a line each; or records with their length before them
// (protobuf, and whatever is compressed). Rotated by size and age.
//
// A record counts only when it is synced. What a crash left of one is cut off at the next start;
// the queue still has it.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/text.h"
#include "gateway/export/senders.h"
#include "journal/file.h"
#include "net/compression.h"

namespace wherefore::gateway {
namespace {

namespace fs = std::filesystem;

// Big-endian, as the collector writes it.
std::string Length32(std::size_t size) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  return out;
}

class FileSender final : public Sender {
 public:
  explicit FileSender(const ExporterOptions::File& options) : options_(options) {}

  Result<> Start() override {
    MutexLock lock(mutex_);
    if (options_.create_directory) {
      std::error_code error;
      const fs::path parent = fs::path(options_.path).parent_path();
      if (!parent.empty()) fs::create_directories(parent, error);
      if (error) return journal::ErrnoError(error.value(), "cannot create", parent.string());
    }
    return OpenFile();
  }

  Outcome Send(Request request, const CancelToken& /*stop*/) override {
    auto record = Encode(std::move(request));
    if (!record) return {.kind = Outcome::Kind::kRefused, .message = record.error().message()};
    MutexLock lock(mutex_);
    if (const auto written = Write(*record); !written)
      return {.kind = Outcome::Kind::kRetry, .message = written.error().message()};
    return {};
  }

 private:
  [[nodiscard]] bool has_lines() const { return !options_.proto && !options_.zstd; }
  [[nodiscard]] bool rotates() const { return options_.max_bytes > 0 || options_.max_days > 0; }

  [[nodiscard]] Result<std::string> Encode(Request request) const {
    std::string record = std::move(request.bytes);
    if (!options_.proto) {
      WHEREFORE_ASSIGN_OR_RETURN(
          record, formats::OtlpToJson(request.signal,
                                      std::make_shared<const std::string>(std::move(record))));
    }
    if (options_.zstd) record = net::Zstd(record);
    return has_lines() ? record + "\n" : Length32(record.size()) + record;
  }

  Result<> OpenFile() REQUIRES(mutex_) {
    const bool keep = options_.append || rotates();
    WHEREFORE_ASSIGN_OR_RETURN(
        file_, journal::File::Open(options_.path, O_RDWR | O_CREAT | (keep ? 0 : O_TRUNC)));
    WHEREFORE_ASSIGN_OR_RETURN(size_, SoundBytes());
    WHEREFORE_RETURN_IF_ERROR(file_.Truncate(size_));
    opened_ns_ = NowUnixNs();
    return {};
  }

  // The length of the whole records in the file.
  [[nodiscard]] Result<std::uint64_t> SoundBytes() const REQUIRES(mutex_) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(options_.path, error);
    if (error) return journal::ErrnoError(error.value(), "cannot read", options_.path);
    return has_lines() ? LastLineEnd(size) : LastRecordEnd(size);
  }
  [[nodiscard]] Result<std::uint64_t> LastLineEnd(std::uint64_t size) const REQUIRES(mutex_) {
    constexpr std::uint64_t kChunk = 1u << 16;
    while (size > 0) {
      const std::uint64_t from = size > kChunk ? size - kChunk : 0;
      WHEREFORE_ASSIGN_OR_RETURN(const std::string chunk, file_.ReadAt(from, size - from));
      if (const auto at = chunk.rfind('\n'); at != std::string::npos) return from + at + 1;
      size = from;
    }
    return 0;
  }
  [[nodiscard]] Result<std::uint64_t> LastRecordEnd(std::uint64_t size) const REQUIRES(mutex_) {
    std::uint64_t at = 0;
    while (at + 4 <= size) {
      WHEREFORE_ASSIGN_OR_RETURN(const std::string head, file_.ReadAt(at, 4));
      std::uint64_t length = 0;
      for (const char c : head) length = length << 8 | static_cast<unsigned char>(c);
      if (at + 4 + length > size) break;
      at += 4 + length;
    }
    return at;
  }

  Result<> Write(const std::string& record) REQUIRES(mutex_) {
    if (!file_.is_open()) WHEREFORE_RETURN_IF_ERROR(OpenFile());
    if (IsDue(record.size())) WHEREFORE_RETURN_IF_ERROR(Rotate());
    Result<> written = file_.WriteAt(size_, record);
    if (written) written = file_.SyncData();
    if (!written) {
      (void)file_.Truncate(size_);
      return written;
    }
    size_ += record.size();
    return {};
  }
  [[nodiscard]] bool IsDue(std::size_t more) const REQUIRES(mutex_) {
    if (size_ == 0) return false;
    return options_.max_bytes > 0 && size_ + more > options_.max_bytes;
  }

  // name.json -> name-2026-11-16T05-02-14.173.json
  Result<> Rotate() REQUIRES(mutex_) {
    const fs::path path = options_.path;
    fs::path backup;
    for (std::int64_t now = NowUnixNs(); backup.empty() || fs::exists(backup); now += 1'000'000) {
      std::string time = FormatTime(now);  // 2026-11-16T05:02:14.173Z
      std::ranges::replace(time, ':', '-');
      time.pop_back();
      backup = path.parent_path() /
               fmt::format("{}-{}{}", path.stem().string(), time, path.extension().string());
    }
    std::error_code error;
    fs::rename(path, backup, error);
    if (error) return journal::ErrnoError(error.value(), "cannot rename", options_.path);
    RemoveOld();
    return OpenFile();
  }

  void RemoveOld() const {
    const fs::path path = options_.path;
    const fs::path parent = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    std::vector<fs::path> backups;
    std::error_code error;
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename();
      constexpr std::size_t kTime = std::string_view("-2026-11-16T05-02-14.173").size();
      const bool ours =
          name.starts_with(path.stem().string() + "-2") &&
          name.ends_with(path.extension().string()) &&
          name.size() == path.stem().string().size() + kTime + path.extension().string().size();
      if (ours) backups.push_back(it->path());
    }
    std::ranges::sort(backups);
    const auto too_many = options_.max_backups > 0
                              ? static_cast<std::ptrdiff_t>(backups.size()) - options_.max_backups
                              : 0;
    for (std::ptrdiff_t i = 0; i < std::ssize(backups); ++i) {
      if (i < too_many || IsOld(backups[static_cast<std::size_t>(i)]))
        fs::remove(backups[static_cast<std::size_t>(i)], error);
    }
  }
  [[nodiscard]] bool IsOld(const fs::path& backup) const {
    std::error_code error;
    const auto written = fs::last_write_time(backup, error);
    return options_.max_days > 0 && !error &&
           fs::file_time_type::clock::now() - written > std::chrono::hours(24) * options_.max_days;
  }

  const ExporterOptions::File options_;
  Mutex mutex_;
  journal::File file_ GUARDED_BY(mutex_);
  std::uint64_t size_ GUARDED_BY(mutex_) = 0;
  std::int64_t opened_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<std::unique_ptr<Sender>> MakeFileSender(const ExporterOptions& options) {
  if (options.file.path.empty()) return Error::At(Code::kInvalid, "path", "is missing");
  return std::make_unique<FileSender>(options.file);
}

}  // namespace wherefore::gateway
