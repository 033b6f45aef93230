#include "sdk/net/own_socket.h"

#include <sys/stat.h>
#include <unistd.h>

namespace wherefore::sdk {

void OwnSocket::Hold(int descriptor) {
  struct stat found{};
  if (fstat(descriptor, &found) != 0) return;  // gone already, and not by us
  device_ = found.st_dev;
  inode_ = found.st_ino;
  descriptor_.store(descriptor, std::memory_order_release);
}

bool OwnSocket::IsOurs(int descriptor) const {
  struct stat found{};
  return fstat(descriptor, &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

int OwnSocket::Use() {
  const int descriptor = descriptor_.load(std::memory_order_acquire);
  if (descriptor < 0 || IsOurs(descriptor)) return descriptor;
  descriptor_.store(-1);
  return -1;
}

void OwnSocket::Close() {
  // In this order: a child forked in between does not close what another has opened.
  const int descriptor = descriptor_.exchange(-1);
  if (descriptor >= 0 && IsOurs(descriptor)) close(descriptor);
}

}  // namespace wherefore::sdk
