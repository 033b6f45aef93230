// See wal.h.
#include "journal/wal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/raw_bytes.h"
#include "base/text.h"

namespace wherefore::journal {
namespace {

// Includes the nonce: a frame copied from another segment is not valid here.
std::uint64_t Checksum(std::string_view payload, std::uint64_t nonce) {
  return HashString(payload, nonce).low;
}

std::uint64_t HeaderChecksum(std::string_view header, std::uint64_t nonce = 0) {
  return HashString(header, nonce ^ kFrameMarker).low;
}

bool AllZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Walks the frames of a segment's bytes.
class FrameWalker {
 public:
  FrameWalker(std::string_view bytes, const SegmentHeader& header)
      : bytes_(bytes),
        nonce_(header.nonce),
        header_bytes_(header.version == 1 ? kFrameHeaderBytes - 8 : kFrameHeaderBytes) {}

  enum class Found : std::uint8_t {
    kGood,
    kCutShort,  // the bytes end inside it
    kBad,       // the length is good, the payload is not
    kNothing,   // no frame header
  };
  struct Frame {
    Found found = Found::kNothing;
    std::string_view payload;
    std::size_t end = 0;
  };

  [[nodiscard]] Frame At(std::size_t at) const {
    if (bytes_.size() - at < header_bytes_) return {.found = Found::kCutShort};
    const std::size_t length = Load<std::uint32_t>(bytes_, at);
    if (Load<std::uint32_t>(bytes_, at + 4) != kFrameMarker) return {};
    const bool checked = header_bytes_ == kFrameHeaderBytes;
    if (checked && HeaderChecksum(bytes_.substr(at, header_bytes_ - 8), nonce_) !=
                       Load<std::uint64_t>(bytes_, at + header_bytes_ - 8)) {
      return {};
    }
    const std::size_t begin = at + header_bytes_;
    if (length > bytes_.size() - begin) return {.found = Found::kCutShort};
    const std::string_view payload = bytes_.substr(begin, length);
    const bool good = Checksum(payload, nonce_) == Load<std::uint64_t>(bytes_, at + 8);
    // A header without a valid checksum is not trusted.
    return {.found = good      ? Found::kGood
                     : checked ? Found::kBad
                               : Found::kNothing,
            .payload = payload,
            .end = begin + length};
  }

  // The position of the next good frame after `at`, or the end.
  [[nodiscard]] std::size_t NextGood(std::size_t at) const {
    const std::string_view marker(reinterpret_cast<const char*>(&kFrameMarker),
                                  sizeof(kFrameMarker));
    for (std::size_t found = bytes_.find(marker, at + 5); found != std::string_view::npos;
         found = bytes_.find(marker, found + 1)) {
      if (At(found - 4).found == Found::kGood) return found - 4;
    }
    return bytes_.size();
  }

 private:
  const std::string_view bytes_;
  const std::uint64_t nonce_;
  const std::size_t header_bytes_;
};

std::uint64_t RandomNonce() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Result<SegmentContent> ParseSegment(std::string_view bytes) {
  constexpr std::size_t kUnchecked = kSegmentHeaderBytes - 8;  // version 1: the whole header
  if (bytes.size() < kUnchecked) return Error(Code::kCorrupt, "log segment: no header");
  SegmentContent content;
  content.header_is_damaged = !bytes.starts_with(kSegmentMagic);
  content.header = {Load<std::uint32_t>(bytes, 8), Load<std::uint32_t>(bytes, 12),
                    Load<std::uint64_t>(bytes, 16), Load<std::uint64_t>(bytes, 24)};
  const std::uint32_t version = content.header.version;
  std::size_t at = kUnchecked;
  if (version != 1) {
    content.header_is_damaged |=
        bytes.size() < kSegmentHeaderBytes ||
        Load<std::uint64_t>(bytes, kUnchecked) != HeaderChecksum(bytes.substr(0, kUnchecked));
    at = std::min(kSegmentHeaderBytes, bytes.size());
    if (version != kSegmentVersion && !content.header_is_damaged) {
      return Error(Code::kUnsupported, fmt::format("log segment: unknown version {}", version));
    }
  }
  using Found = FrameWalker::Found;
  const FrameWalker walker(bytes, content.header);
  while (at < bytes.size()) {
    const FrameWalker::Frame frame = walker.At(at);
    if (frame.found == Found::kGood) {
      content.frames.push_back(frame.payload);
      at = frame.end;
      continue;
    }
    const std::size_t next = frame.found == Found::kBad ? frame.end : walker.NextGood(at);
    // Only the end can be torn. After a power failure the file may be longer, with zeros at the
    // end.
    const bool torn =
        next == bytes.size() && (frame.found == Found::kCutShort || AllZero(bytes.substr(at)));
    if (torn) {
      content.torn_bytes = bytes.size() - at;
    } else {
      content.damaged.push_back({at, next});
    }
    at = next;
  }
  return content;
}

std::string Wal::PathOf(std::uint64_t number, std::string_view extension) const {
  return fmt::format("{}/{:06}.{}", directory_, number, extension);
}

Result<> Wal::Open(const std::string& directory, std::uint32_t writer) {
  directory_ = directory;
  MutexLock lock(mutex_);
  writer_ = writer;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return ErrnoError(error.value(), "cannot create", directory);
  WHEREFORE_RETURN_IF_ERROR(FindSegments());
  Result<> opened = OpenNext();
  if (opened || opened.error().code() != Code::kUnavailable) return opened;
  Log(LogLevel::kWarn, "no log segment can be opened yet", {{"error", opened.error().message()}});
  return {};
}

Result<> Wal::FindSegments() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string path = entry->path();
    const auto number = ParseUint(entry->path().stem().string());
    if (!number) continue;
    number_ = std::max(number_, *number);  // .bad files count too: numbers are not reused
    if (entry->path().extension() != ".log") continue;
    std::error_code unreadable;
    const bool is_file = entry->is_regular_file(unreadable);
    const std::uint64_t size = is_file ? entry->file_size(unreadable) : 0;
    if (!is_file || unreadable) {
      return Error(Code::kCorrupt, fmt::format("{} is not a file (a folder, or a broken link): "
                                               "restore the log segment, or move this away",
                                               path));
    }
    if (size <= kSegmentHeaderBytes) {
      // Nothing in it was ever acknowledged.
      fs::remove(path, unreadable);
      continue;
    }
    closed_.push_back({*number, size, path});
  }
  if (error) return ErrnoError(error.value(), "cannot list", directory_);
  std::ranges::sort(closed_, {}, &Segment::number);
  return {};
}

Result<> Wal::OpenNext() {
  const std::uint64_t number = number_ + 1;
  const std::uint64_t nonce = RandomNonce();
  std::string header(kSegmentMagic);
  AppendRaw(header, kSegmentVersion);
  AppendRaw(header, writer_);
  AppendRaw(header, number);
  AppendRaw(header, nonce);
  AppendRaw(header, HeaderChecksum(header));
  const std::string path = PathOf(number, "log");
  WHEREFORE_ASSIGN_OR_RETURN(File file, File::Open(path, O_RDWR | O_CREAT | O_TRUNC));
  Result<> written = file.WriteAt(0, header);
  if (written) written = file.SyncData();
  if (written) written = SyncDirectory(directory_);
  if (!written) {
    unlink(path.c_str());
    return written;
  }
  file_ = std::move(file);
  number_ = number;
  nonce_ = nonce;
  size_ = kSegmentHeaderBytes;
  distrusted_ = false;
  return {};
}

Result<std::uint64_t> Wal::Append(std::string_view payload) {
  WHEREFORE_ASSIGN_OR_RETURN(const Place place, AppendPlaced(payload));
  return place.segment;
}

Result<Wal::Place> Wal::AppendPlaced(std::string_view payload) {
  if (payload.size() > UINT32_MAX) return Error(Code::kLimit, "log: a group of more than 4 GiB");
  MutexLock lock(mutex_);
  if (distrusted_ || !file_.is_open()) WHEREFORE_RETURN_IF_ERROR(RotateLocked());
  std::string header;
  AppendRaw(header, static_cast<std::uint32_t>(payload.size()));
  AppendRaw(header, kFrameMarker);
  AppendRaw(header, Checksum(payload, nonce_));
  AppendRaw(header, HeaderChecksum(header, nonce_));
  Result<> written = file_.WriteAt(size_, header);
  if (written) written = file_.WriteAt(size_ + header.size(), payload);
  if (written) {
    written = file_.SyncData();
    // After a failed sync the content on disk is unknown; do not build on it.
    if (!written) distrusted_ = true;
  }
  if (!written) {
    if (!file_.Truncate(size_)) distrusted_ = true;
    return std::move(written).error().Within("log");
  }
  const Place place{number_, size_ + header.size()};
  size_ += header.size() + payload.size();
  return place;
}

Result<std::string> Wal::Read(Place from, std::size_t size) const {
  WHEREFORE_ASSIGN_OR_RETURN(const File file, File::Open(PathOf(from.segment, "log"), O_RDONLY));
  return file.ReadAt(from.offset, size);
}

Result<> Wal::Rotate() {
  MutexLock lock(mutex_);
  return RotateLocked();
}

Result<> Wal::RotateLocked() {
  if (!file_.is_open()) return OpenNext();
  if (size_ == kSegmentHeaderBytes && !distrusted_) return {};
  const Segment segment{number_, size_, PathOf(number_, "log")};
  // A failed frame may still be there if truncating failed too; it was never acknowledged.
  if (distrusted_) WHEREFORE_RETURN_IF_ERROR(file_.Truncate(size_));
  WHEREFORE_RETURN_IF_ERROR(OpenNext());
  if (segment.bytes > kSegmentHeaderBytes) {
    closed_.push_back(segment);
  } else {
    unlink(segment.path.c_str());
  }
  return {};
}

std::vector<Wal::Segment> Wal::Closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

Result<> Wal::Remove(std::uint64_t number) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(closed_, number, &Segment::number);
  if (found == closed_.end()) return {};
  if (unlink(found->path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoError(errno, "cannot remove", found->path);
  }
  closed_.erase(found);
  return {};
}

Result<> Wal::SetAside(std::uint64_t number) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(closed_, number, &Segment::number);
  if (found == closed_.end()) return {};
  std::error_code error;
  std::filesystem::rename(found->path, PathOf(number, "bad"), error);
  if (error) return ErrnoError(error.value(), "cannot rename", found->path);
  closed_.erase(found);
  return SyncDirectory(directory_);
}

std::uint64_t Wal::current_number() const {
  MutexLock lock(mutex_);
  return number_;
}
std::uint64_t Wal::current_bytes() const {
  MutexLock lock(mutex_);
  return size_ - kSegmentHeaderBytes;
}
std::uint64_t Wal::closed_bytes() const {
  MutexLock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Segment& segment : closed_) bytes += segment.bytes;
  return bytes;
}
void Wal::set_writer(std::uint32_t writer) {
  MutexLock lock(mutex_);
  writer_ = writer;
}

}  // namespace wherefore::journal
