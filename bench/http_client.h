// A few keep-alive HTTP/1.1 connections that POST bodies: the sending half of the benchmark.
//
// One thread, one epoll. It knows just enough HTTP for our server: answers have a Content-Length.
// Anything unexpected (a closed connection, a malformed answer) ends the program, because the
// measurement would be worthless.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::bench {

class HttpPosters {
 public:
  // Called for every answer, with the connection's number.
  using OnAnswer = std::function<void(std::size_t connection, int status, std::string_view body)>;

  HttpPosters(const std::string& host, std::uint16_t port, std::size_t connections,
              OnAnswer on_answer);
  HttpPosters(const HttpPosters&) = delete;
  HttpPosters& operator=(const HttpPosters&) = delete;
  ~HttpPosters();

  // The connection must not be waiting for an answer. Takes the body and returns an old one in
  // exchange, whose memory can be reused.
  void Post(std::size_t connection, std::string_view path, std::string& body);
  // Moves bytes until something happened or the time is over; < 0: no time limit.
  void Run(std::int64_t timeout_ns);

 private:
  struct Connection {
    int fd = -1;
    std::string head;
    std::string body;
    std::size_t sent = 0;  // of both
    std::string in;
    bool wants_write = false;
  };
  void Send(std::size_t index);
  void Receive(std::size_t index);
  void Watch(std::size_t index, bool write);

  std::string host_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  OnAnswer on_answer_;
};

}  // namespace wherefore::bench
