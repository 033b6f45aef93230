// The process that reads untrusted files, and the server's connection to it.
//
// A sender says where a module's file is. Opening it may block forever, and libdw, which reads it,
// is not hardened against damaged or malicious files. So a child process does both, with bounded
// memory and confined to reading (confine.h): whatever happens to it, the server loses only a few
// names. It keeps the last modules open, exits after a minute without work, and dies with the
// server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "symbols/worker_messages.h"

namespace wherefore::symbols {

// Answers requests on `socket` until the other end is closed. Returns the exit code.
int RunWorker(int socket);

// The server's side. Not thread-safe.
class WorkerProcess {
 public:
  // `command` is run with a socket as its standard input and must call RunWorker(0).
  explicit WorkerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~WorkerProcess() { Stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Starts the child if it is not running. If it does not answer until `deadline_ns` (MonotonicNs)
  // or crashes, it is killed and that is the error. kNotFound: there are no such files, or they are
  // gone or have been replaced.
  Result<ModuleFiles> Find(const FindRequest& request, std::int64_t deadline_ns);
  // One frame per address.
  Result<std::vector<ResolvedFrame>> Resolve(const ResolveRequest& request,
                                             std::int64_t deadline_ns);
  // Why the last child runs unconfined; empty if it is confined.
  [[nodiscard]] const std::string& why_not_confined() const { return why_not_confined_; }

 private:
  Result<> Start();
  void Stop();
  void Reap();
  Result<std::string> Exchange(std::string_view request, std::int64_t deadline_ns);
  Result<std::string> Ask(std::string_view request, std::int64_t deadline_ns);

  const std::vector<std::string> command_;
  pid_t pid_ = -1;
  Descriptor socket_;
  std::vector<pid_t> stuck_;  // killed but still in the kernel, waiting for a file system
  std::string why_not_confined_;
};

}  // namespace wherefore::symbols
