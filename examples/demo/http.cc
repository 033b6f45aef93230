#include "http.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace demo {
namespace {

struct Message {
  std::string head;
  std::string body;
};

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string HeaderOf(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + name.size();
  return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
}

// One message; what was read beyond it stays in `buffer`.
bool Receive(int socket, std::string& buffer, Message& message) {
  std::size_t end = 0;
  char block[16384];
  const auto more = [&] {
    const ssize_t got = recv(socket, block, sizeof block, 0);
    if (got > 0) buffer.append(block, static_cast<std::size_t>(got));
    return got > 0;
  };
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  message.head = buffer.substr(0, end + 2);
  const std::size_t length =
      std::strtoul(HeaderOf(message.head, "Content-Length: ").c_str(), nullptr, 10);
  while (buffer.size() < end + 4 + length) {
    if (!more()) return false;
  }
  message.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  return true;
}

void ServeConnection(int socket, const Handler& handler) {
  std::string buffer;
  Message message;
  while (Receive(socket, buffer, message)) {
    const std::size_t path = message.head.find(' ') + 1;
    const Response response =
        handler({.path = message.head.substr(path, message.head.find(' ', path) - path),
                 .traceparent = HeaderOf(message.head, "traceparent: "),
                 .body = std::move(message.body)});
    if (!SendAll(socket, "HTTP/1.1 " + std::to_string(response.status) +
                             " Done\r\nContent-Length: " + std::to_string(response.body.size()) +
                             "\r\n\r\n" + response.body)) {
      break;
    }
  }
  close(socket);
}

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Connect(std::uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const int now = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return connection;
  close(connection);
  return -1;
}

}  // namespace

bool Serve(std::uint16_t port, const Handler& handler) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0) {
    close(listener);
    return false;
  }
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    std::thread(ServeConnection, connection, handler).detach();
  }
}

Response Call(std::uint16_t port, const Request& request) {
  thread_local std::map<std::uint16_t, int> connections;
  std::string text = "POST " + request.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " +
                     std::to_string(request.body.size()) + "\r\n";
  if (!request.traceparent.empty()) text += "traceparent: " + request.traceparent + "\r\n";
  text += "\r\n" + request.body;
  // A kept connection may have been closed meanwhile: then a second try with a new one.
  for (int attempt = 0; attempt < 2; ++attempt) {
    int& connection = connections.try_emplace(port, -1).first->second;
    if (connection < 0) connection = Connect(port);
    if (connection < 0) return {.status = 0, .body = {}};
    std::string buffer;
    Message message;
    if (SendAll(connection, text) && Receive(connection, buffer, message)) {
      return {.status = std::atoi(message.head.c_str() + 9), .body = std::move(message.body)};
    }
    close(connection);
    connection = -1;
  }
  return {.status = 0, .body = {}};
}

}  // namespace demo
