// The process that reads debug information, and the server's end of the line to it.
//
// libdw is good, but it reads files that may be damaged or made to harm. So a child process does
// it, with its memory bounded: whatever happens to it, the server loses a few names and nothing
// else. It keeps the last modules open, leaves by itself after a minute without work, and dies with
// the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbols/resolved_frame.h"

namespace wherefore::symbols {

// What the child does: answers requests on `socket` until its other end is closed. Gives the exit
// code.
int RunWorker(int socket);

// One question: addresses (virtual, of the file) of one module.
struct WorkerRequest {
  std::string program;
  std::string debug;
  std::span<const std::uint64_t> addresses;
};

// Not thread-safe.
class WorkerProcess {
 public:
  // `command` is run with a socket as its standard input and must call RunWorker(0).
  explicit WorkerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~WorkerProcess() { Stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // One frame per address. The child is started when it is not there; when it does not answer until
  // `deadline_ns` (MonotonicNs) or breaks down it is killed, and that is the error.
  Result<std::vector<ResolvedFrame>> Ask(const WorkerRequest& request, std::int64_t deadline_ns);

 private:
  Result<> Start();
  void Stop();
  Result<std::string> Exchange(std::string_view request, std::int64_t deadline_ns);

  const std::vector<std::string> command_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace wherefore::symbols
