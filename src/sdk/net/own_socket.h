// OwnSocket: a socket of ours among the host's descriptors. Some programs close every descriptor
// they find (daemons do), or reuse the number of ours for a file of their own. Such a descriptor is
// theirs: it is neither written to nor closed.
//
// One thread uses it; Close also from a forked child. What always holds: Use() gives our socket or
// nothing, but for the moment between its look and the call that follows.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace wherefore::sdk {

class OwnSocket {
 public:
  OwnSocket() = default;
  ~OwnSocket() { Close(); }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;

  // Takes `descriptor` over; nothing may be held.
  void Hold(int descriptor);
  // As far as is known.
  [[nodiscard]] bool held() const { return descriptor_.load(std::memory_order_acquire) >= 0; }
  // The descriptor for one call; -1 when nothing is held, or not any more.
  [[nodiscard]] int Use();
  void Close();

 private:
  [[nodiscard]] bool IsOurs(int descriptor) const;

  std::atomic<int> descriptor_{-1};
  dev_t device_ = 0;  // what is held, by the number that no other open file has
  ino_t inode_ = 0;
};

}  // namespace wherefore::sdk
