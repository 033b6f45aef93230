// Counts the bytes of requests being read or handled by one server, and one request's part of them,
// here and in the process's memory budget.
//
// Threads: InflightBytes any. A ByteHold is used by one thread at a time, and lives as long as
// anybody works on its request.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/memory_budget.h"

namespace wherefore::net {

// Peak memory per byte of a body while it is decoded, encoded as rows and logged; measured with
// stacks that are all new (docs/performance.md).
inline constexpr std::size_t kMemoryPerBodyByte = 8;

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

  // Grows to at least this much; false if there is not enough.
  [[nodiscard]] bool Reach(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!memory_.Reach(bytes) || !of_->Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  // The same, plus what handling the body needs.
  [[nodiscard]] bool ReachToHandle(std::size_t bytes) {
    return Reach(bytes) && memory_.Reach(bytes * kMemoryPerBodyByte);
  }
  // Whether there can ever be enough for it.
  [[nodiscard]] static bool CanBeHandled(std::size_t bytes) {
    return MemoryBudget::Process().Fits(bytes * kMemoryPerBodyByte);
  }

 private:
  const std::shared_ptr<InflightBytes> of_;
  MemoryHold memory_;
  std::size_t bytes_ = 0;
};

// A body that keeps its bytes counted for as long as anybody uses it.
[[nodiscard]] inline std::shared_ptr<const std::string> HoldWhileUsed(
    std::shared_ptr<const std::string> body, std::shared_ptr<ByteHold> bytes) {
  using Both = std::pair<std::shared_ptr<const std::string>, std::shared_ptr<ByteHold>>;
  const std::string* const text = body.get();
  return {std::make_shared<Both>(std::move(body), std::move(bytes)), text};
}

}  // namespace wherefore::net
