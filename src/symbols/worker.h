// The process that reads strangers' files, and the server's end of the line to it.
//
// A sender says where a module's file is. To open it may wait for ever, and libdw, which reads it,
// is good but not written for files that are damaged or made to harm. So a child process does both,
// with its memory bounded and confined to reading (confine.h): whatever happens to it, the server
// loses a few names and nothing else. It keeps the last modules open, leaves by itself after a
// minute without work, and dies with the server.
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

// What the child does: answers requests on `socket` until its other end is closed. Gives the exit
// code.
int RunWorker(int socket);

// Not thread-safe.
class WorkerProcess {
 public:
  // `command` is run with a socket as its standard input and must call RunWorker(0).
  explicit WorkerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~WorkerProcess() { Stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The child is started when it is not there; when it does not answer until `deadline_ns`
  // (MonotonicNs) or breaks down it is killed, and that is the error. kNotFound: it answers that
  // there are no such files, or that they are gone or others by now.
  Result<ModuleFiles> Find(const FindRequest& request, std::int64_t deadline_ns);
  // One frame per address.
  Result<std::vector<ResolvedFrame>> Resolve(const ResolveRequest& request,
                                             std::int64_t deadline_ns);
  // Why the child that was started last runs without its confinement; empty when it is confined.
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
  std::vector<pid_t> stuck_;  // killed, and not gone yet: the kernel waits for a file system
  std::string why_not_confined_;
};

}  // namespace wherefore::symbols
