// See wal.h.
#include "store/wal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "store/raw_bytes.h"

namespace wherefore::store {
namespace {

// The nonce is part of it: a frame copied from another segment does not count here.
std::uint64_t Checksum(std::string_view payload, std::uint64_t nonce) {
  return HashString(payload, nonce).low;
}

// The good frame at `at`, or nothing.
bool FrameAt(std::string_view bytes, std::size_t at, std::uint64_t nonce,
             std::string_view& payload) {
  if (bytes.size() - at < kFrameHeaderBytes) return false;
  const auto length = Load<std::uint32_t>(bytes, at);
  if (Load<std::uint32_t>(bytes, at + 4) != kFrameMarker) return false;
  if (length > bytes.size() - at - kFrameHeaderBytes) return false;
  payload = bytes.substr(at + kFrameHeaderBytes, length);
  return Checksum(payload, nonce) == Load<std::uint64_t>(bytes, at + 8);
}

// Is there a good frame anywhere behind `at`? Then what is at `at` is damage, not the end of the
// log.
bool FramesBehind(std::string_view bytes, std::size_t at, std::uint64_t nonce) {
  std::string_view marker(reinterpret_cast<const char*>(&kFrameMarker), sizeof(kFrameMarker));
  std::string_view payload;
  for (std::size_t found = bytes.find(marker, at + 5); found != std::string_view::npos;
       found = bytes.find(marker, found + 1)) {
    if (FrameAt(bytes, found - 4, nonce, payload)) return true;
  }
  return false;
}

std::uint64_t RandomNonce() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Result<SegmentContent> ParseSegment(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kSegmentMagic)) {
    return Error(Code::kCorrupt, "log segment: no header");
  }
  if (const auto version = Load<std::uint32_t>(bytes, 8); version != kSegmentVersion) {
    return Error(Code::kUnsupported, fmt::format("log segment: version {} is not known", version));
  }
  SegmentContent content;
  content.header = {Load<std::uint32_t>(bytes, 12), Load<std::uint64_t>(bytes, 16),
                    Load<std::uint64_t>(bytes, 24)};
  std::size_t at = kSegmentHeaderBytes;
  std::string_view payload;
  while (at < bytes.size() && FrameAt(bytes, at, content.header.nonce, payload)) {
    content.frames.push_back(payload);
    at += kFrameHeaderBytes + payload.size();
  }
  content.good_bytes = at;
  if (at < bytes.size()) {
    content.tail = FramesBehind(bytes, at, content.header.nonce) ? SegmentContent::Tail::kDamaged
                                                                 : SegmentContent::Tail::kTorn;
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
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const auto number = ParseUint(entry.path().stem().string());
    if (!number) continue;
    number_ = std::max(number_, *number);  // .bad files count too: numbers are not reused
    if (entry.path().extension() != ".log") continue;
    const std::uint64_t size = entry.file_size();
    if (size <= kSegmentHeaderBytes) {
      // Nothing was ever acknowledged from it.
      std::filesystem::remove(entry.path(), error);
      continue;
    }
    closed_.push_back({*number, size, entry.path()});
  }
  if (error) return ErrnoError(error.value(), "cannot list", directory);
  std::ranges::sort(closed_, {}, &Segment::number);
  return OpenNext();
}

Result<> Wal::OpenNext() {
  const std::uint64_t number = number_ + 1;
  const std::uint64_t nonce = RandomNonce();
  std::string header(kSegmentMagic);
  AppendRaw(header, kSegmentVersion);
  AppendRaw(header, writer_);
  AppendRaw(header, number);
  AppendRaw(header, nonce);
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
  if (payload.size() > UINT32_MAX) return Error(Code::kLimit, "log: a group of over 4 GiB");
  MutexLock lock(mutex_);
  if (distrusted_) WHEREFORE_RETURN_IF_ERROR(RotateLocked());
  std::string header;
  AppendRaw(header, static_cast<std::uint32_t>(payload.size()));
  AppendRaw(header, kFrameMarker);
  AppendRaw(header, Checksum(payload, nonce_));
  Result<> written = file_.WriteAt(size_, header);
  if (written) written = file_.WriteAt(size_ + header.size(), payload);
  if (written) {
    written = file_.SyncData();
    // What a failed sync left on disk cannot be known; do not build on it.
    if (!written) distrusted_ = true;
  }
  if (!written) {
    if (!file_.Truncate(size_)) distrusted_ = true;
    return std::move(written).error().Within("log");
  }
  size_ += header.size() + payload.size();
  return number_;
}

Result<> Wal::Rotate() {
  MutexLock lock(mutex_);
  return RotateLocked();
}

Result<> Wal::RotateLocked() {
  if (size_ == kSegmentHeaderBytes && !distrusted_) return {};
  const Segment segment{number_, size_, PathOf(number_, "log")};
  // A frame that failed may still be there if cutting it off failed too; it was never acknowledged.
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

}  // namespace wherefore::store
