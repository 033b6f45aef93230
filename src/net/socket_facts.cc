// In a file of its own because the kernel's and the C library's header cannot both be included, and
// only the kernel's has every field.
#include "net/socket_facts.h"

#include <linux/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstddef>

namespace wherefore::net {
namespace {

struct Facts {
  tcp_info info{};
  socklen_t size = 0;  // how much of it this kernel filled in
};

// Returns 0 if it is closed.
std::size_t InodeOf(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

Facts Ask(int fd) {
  Facts facts;
  facts.size = sizeof(facts.info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &facts.info, &facts.size) != 0) facts.size = 0;
  return facts;
}

}  // namespace

LentSocket::LentSocket(int fd) : fd_(fd), inode_(InodeOf(fd)) {}

bool LentSocket::IsOpen() const {
  return inode_ != 0 && InodeOf(fd_) == inode_;
}

std::optional<std::uint64_t> TakenBytes(int fd) {
  const Facts facts = Ask(fd);
  constexpr std::size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_acked) + sizeof(tcp_info::tcpi_bytes_acked);
  if (facts.size < kNeeded) return std::nullopt;
  return facts.info.tcpi_bytes_acked;
}

Silence SilenceOf(int fd) {
  const Facts facts = Ask(fd);
  return {.milliseconds = facts.info.tcpi_last_data_recv,
          .received = facts.info.tcpi_bytes_received};
}

}  // namespace wherefore::net
