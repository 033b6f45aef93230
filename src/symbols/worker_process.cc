// WorkerProcess: the server's side.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <utility>

#include "base/clock.h"
#include "symbols/worker.h"

namespace wherefore::symbols {
namespace {

constexpr std::size_t kMaxStuck = 4;

// Whether it has ended and been reaped.
bool IsGone(pid_t pid) {
  const pid_t ended = waitpid(pid, nullptr, WNOHANG);
  return ended == pid || (ended < 0 && errno == ECHILD);
}

}  // namespace

Result<> WorkerProcess::Start() {
  Reap();
  if (stuck_.size() >= kMaxStuck) {
    return Error(Code::kIo, "symbols: workers still wait for a file system that does not answer");
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error(Code::kIo, "symbols: no socket for the worker");
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  std::vector<char*> arguments;
  for (const std::string& word : command_) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  char* environment[] = {nullptr};
  const int failed =
      posix_spawn(&pid_, command_[0].c_str(), &actions, nullptr, arguments.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    Stop();
    return Error(Code::kIo, "symbols: the worker cannot be started: " + command_[0]);
  }
  return {};
}

void WorkerProcess::Stop() {
  constexpr int kPatienceMs = 500;
  socket_ = {};
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  stuck_.push_back(std::exchange(pid_, -1));
  Reap();
  for (int waited = 0; !stuck_.empty() && waited < kPatienceMs; ++waited) {
    poll(nullptr, 0, 1);
    Reap();
  }
}

void WorkerProcess::Reap() {
  std::erase_if(stuck_, IsGone);
}

Result<std::string> WorkerProcess::Exchange(std::string_view request, std::int64_t deadline_ns) {
  const bool starts = socket_.get() < 0;
  if (starts) WHEREFORE_RETURN_IF_ERROR(Start());
  std::string answer;
  if ((!starts || ReceiveMessage(socket_.get(), why_not_confined_, deadline_ns)) &&
      SendMessage(socket_.get(), request, deadline_ns) &&
      ReceiveMessage(socket_.get(), answer, deadline_ns)) {
    return answer;
  }
  const bool late = MonotonicNs() >= deadline_ns;
  Stop();
  return late ? Error(Code::kLimit, "symbols: the file took too long to read")
              : Error(Code::kUnavailable, "symbols: the worker ended");
}

Result<std::string> WorkerProcess::Ask(std::string_view request, std::int64_t deadline_ns) {
  const bool was_running = socket_.get() >= 0;
  auto answer = Exchange(request, deadline_ns);
  // An idle worker exits after a minute; that is not a failure.
  if (!answer && answer.error().code() == Code::kUnavailable && was_running) {
    answer = Exchange(request, deadline_ns);
  }
  return answer;
}

Result<ModuleFiles> WorkerProcess::Find(const FindRequest& request, std::int64_t deadline_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer, Ask(Encode(request), deadline_ns));
  auto files = DecodeFiles(answer);
  if (!files && files.error().code() == Code::kCorrupt) Stop();
  return files;
}

Result<std::vector<ResolvedFrame>> WorkerProcess::Resolve(const ResolveRequest& request,
                                                          std::int64_t deadline_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer, Ask(Encode(request), deadline_ns));
  auto frames = DecodeFrames(answer, request.addresses.size());
  if (!frames && frames.error().code() == Code::kCorrupt) Stop();
  return frames;
}

}  // namespace wherefore::symbols
