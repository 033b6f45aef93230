// Bytes of requests that are being read or handled, of one server, and what one request has of
// them.
//
// Threads: InflightBytes any; a ByteHold is used by one thread at a time, and lives until the last
// of those who work on its request lets go.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace wherefore::net {

class InflightBytes {
 public:
  explicit InflightBytes(std::size_t most) : most_(most) {}
  InflightBytes(const InflightBytes&) = delete;
  InflightBytes& operator=(const InflightBytes&) = delete;

  [[nodiscard]] bool HasRoom(std::size_t bytes) const { return bytes_.load() + bytes <= most_; }
  // False: nothing was taken.
  [[nodiscard]] bool Take(std::size_t bytes) {
    if (bytes_.fetch_add(bytes) + bytes <= most_) return true;
    bytes_.fetch_sub(bytes);
    return false;
  }
  void Give(std::size_t bytes) { bytes_.fetch_sub(bytes); }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> bytes_{0};
};

class ByteHold {
 public:
  explicit ByteHold(std::shared_ptr<InflightBytes> of) : of_(std::move(of)) {}
  ByteHold(const ByteHold&) = delete;
  ByteHold& operator=(const ByteHold&) = delete;
  ~ByteHold() { of_->Give(bytes_); }

  // Makes sure that it holds this much; false when there is not enough.
  [[nodiscard]] bool Reach(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!of_->Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  const std::shared_ptr<InflightBytes> of_;
  std::size_t bytes_ = 0;
};

}  // namespace wherefore::net
