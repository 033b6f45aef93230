#include "net/grpc_sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include <netinet/in.h>

#include "base/text.h"
#include "net/url.h"

namespace wherefore::net {
namespace {

template <typename Address>
std::string BytesOf(const Address& address) {
  return {reinterpret_cast<const char*>(&address), sizeof(address)};
}

}  // namespace

void GrpcSockets::Add(int fd) {
  const auto peer = PeerOf(fd);
  if (!peer) return;
  MutexLock lock(mutex_);
  if (sockets_.size() >= forget_at_) {
    std::erase_if(sockets_, [](const auto& socket) { return !socket.second.IsOpen(); });
    forget_at_ = std::max<std::size_t>(64, 2 * sockets_.size());
  }
  sockets_.insert_or_assign(*peer, LentSocket(fd));
}

std::optional<std::uint64_t> GrpcSockets::TakenBytes(std::string_view peer) {
  const auto parsed = Parse(peer);
  if (!parsed) return std::nullopt;
  MutexLock lock(mutex_);
  const auto socket = sockets_.find(*parsed);
  if (socket == sockets_.end() || !socket->second.IsOpen()) return std::nullopt;
  return net::TakenBytes(socket->second.fd());
}

std::optional<GrpcSockets::Peer> GrpcSockets::PeerOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  if (storage.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    return Peer(BytesOf(address.sin_addr), ntohs(address.sin_port));
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
  const std::uint16_t port = ntohs(address.sin6_port);
  // gRPC shows an IPv4 peer as such, also on a socket for both.
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr))
    return Peer(BytesOf(address.sin6_addr).substr(12), port);
  return Peer(BytesOf(address.sin6_addr), port);
}

// "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711" or the same with %5B and %5D.
std::optional<GrpcSockets::Peer> GrpcSockets::Parse(std::string_view peer) {
  const auto text = PercentDecode(peer, false);
  if (!text) return std::nullopt;
  const std::size_t begin = text->find(':');
  const std::size_t end = text->rfind(':');
  if (begin == std::string::npos || begin == end) return std::nullopt;
  const auto port = ParseUint(std::string_view(*text).substr(end + 1));
  if (!port || *port > UINT16_MAX) return std::nullopt;
  std::string host = text->substr(begin + 1, end - begin - 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1)
    return Peer(BytesOf(v4), static_cast<std::uint16_t>(*port));
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return std::nullopt;
  return Peer(BytesOf(v6), static_cast<std::uint16_t>(*port));
}

}  // namespace wherefore::net
