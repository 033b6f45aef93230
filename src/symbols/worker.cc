#include "symbols/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/clock.h"
#include "elf/byte_reader.h"
#include "symbols/dwarf_module.h"

namespace wherefore::symbols {
namespace {

constexpr std::uint32_t kMaxMessage = 256u << 20;
constexpr std::size_t kMaxOpenModules = 8;
constexpr int kIdleMs = 60'000;
constexpr rlim_t kMaxMemory = rlim_t{2} << 30;
constexpr std::size_t kMaxLinesPerAddress = 256;

// Messages are a 32-bit length and that many bytes. Both sides use these; -1 waits for ever.
bool WaitFor(int socket, short events, std::int64_t deadline_ns) {
  while (true) {
    const std::int64_t left_ms =
        deadline_ns < 0 ? -1 : (deadline_ns - MonotonicNs() + 999'999) / 1'000'000;
    if (deadline_ns >= 0 && left_ms <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool SendAll(int socket, std::string_view bytes, std::int64_t deadline_ns) {
  while (!bytes.empty()) {
    if (!WaitFor(socket, POLLOUT, deadline_ns)) return false;
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool ReceiveAll(int socket, void* to, std::size_t size, std::int64_t deadline_ns) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    if (!WaitFor(socket, POLLIN, deadline_ns)) return false;
    const ssize_t n = recv(socket, at, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool SendMessage(int socket, std::string_view message, std::int64_t deadline_ns) {
  const auto size = static_cast<std::uint32_t>(message.size());
  return SendAll(socket, {reinterpret_cast<const char*>(&size), sizeof size}, deadline_ns) &&
         SendAll(socket, message, deadline_ns);
}

bool ReceiveMessage(int socket, std::string& message, std::int64_t deadline_ns) {
  std::uint32_t size = 0;
  if (!ReceiveAll(socket, &size, sizeof size, deadline_ns) || size > kMaxMessage) return false;
  message.resize(size);
  return ReceiveAll(socket, message.data(), size, deadline_ns);
}

void AppendNumber(std::string& out, std::uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void AppendText(std::string& out, std::string_view text) {
  out.append(text.substr(0, text.find('\0'))).push_back('\0');
}

std::span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string EncodeFrames(const std::vector<ResolvedFrame>& frames) {
  std::string out;
  for (const ResolvedFrame& frame : frames) {
    AppendNumber(out, static_cast<std::uint32_t>(frame.size()));
    for (const ResolvedLine& line : frame) {
      AppendText(out, line.name);
      AppendText(out, line.system_name);
      AppendText(out, line.file);
      AppendNumber(out, line.line);
      AppendNumber(out, line.column);
      AppendNumber(out, line.start_line);
    }
  }
  return out;
}

Result<std::vector<ResolvedFrame>> DecodeFrames(std::string_view bytes, std::size_t count) {
  elf::ByteReader reader(AsBytes(bytes));
  std::vector<ResolvedFrame> frames(count);
  for (ResolvedFrame& frame : frames) {
    const auto lines = reader.Read<std::uint32_t>();
    if (lines > kMaxLinesPerAddress) return Error(Code::kCorrupt, "symbols: a damaged answer");
    for (std::uint32_t i = 0; i < lines && !reader.failed(); ++i) {
      ResolvedLine& line = frame.emplace_back();
      line.name = reader.CString();
      line.system_name = reader.CString();
      line.file = reader.CString();
      line.line = reader.Read<std::uint32_t>();
      line.column = reader.Read<std::uint32_t>();
      line.start_line = reader.Read<std::uint32_t>();
    }
  }
  if (reader.failed()) return Error(Code::kCorrupt, "symbols: a damaged answer");
  return frames;
}

// The modules asked for last, most recent first.
class OpenModules {
 public:
  DwarfModule* Get(const std::string& program, const std::string& debug) {
    for (auto it = modules_.begin(); it != modules_.end(); ++it) {
      if (it->program != program || it->debug != debug) continue;
      std::rotate(modules_.begin(), it, it + 1);
      return modules_.front().module.get();
    }
    auto opened = DwarfModule::Open(program, debug);
    if (!opened) return nullptr;
    modules_.push_front({program, debug, *std::move(opened)});
    if (modules_.size() > kMaxOpenModules) modules_.pop_back();
    return modules_.front().module.get();
  }

 private:
  struct Entry {
    std::string program;
    std::string debug;
    std::unique_ptr<DwarfModule> module;
  };
  std::deque<Entry> modules_;
};

std::string Answer(OpenModules& modules, std::string_view request) {
  elf::ByteReader reader(AsBytes(request));
  const std::string program(reader.CString());
  const std::string debug(reader.CString());
  DwarfModule* const module = modules.Get(program, debug);
  std::vector<ResolvedFrame> frames;
  while (reader.left() >= sizeof(std::uint64_t)) {
    const auto address = reader.Read<std::uint64_t>();
    frames.push_back(module == nullptr ? ResolvedFrame() : module->Resolve(address));
    if (frames.back().size() > kMaxLinesPerAddress) frames.back().resize(kMaxLinesPerAddress);
  }
  return EncodeFrames(frames);
}

}  // namespace

int RunWorker(int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "wf-symbols");
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those reserve terabytes
  const rlimit memory{kMaxMemory, kMaxMemory};
  setrlimit(RLIMIT_DATA, &memory);
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  constexpr int kBehindQueries = 5;
  (void)nice(kBehindQueries);
  OpenModules modules;
  std::string request;
  while (WaitFor(socket, POLLIN, MonotonicNs() + std::int64_t{kIdleMs} * 1'000'000)) {
    if (!ReceiveMessage(socket, request, -1)) break;
    if (!SendMessage(socket, Answer(modules, request), -1)) break;
  }
  return 0;
}

Result<> WorkerProcess::Start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error(Code::kIo, "symbols: no socket for the worker");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
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
  close(ends[1]);
  socket_ = ends[0];
  if (failed != 0) {
    pid_ = -1;
    Stop();
    return Error(Code::kIo, "symbols: the worker cannot be started: " + command_[0]);
  }
  return {};
}

void WorkerProcess::Stop() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Result<std::string> WorkerProcess::Exchange(std::string_view request, std::int64_t deadline_ns) {
  if (socket_ < 0) WHEREFORE_RETURN_IF_ERROR(Start());
  std::string answer;
  if (SendMessage(socket_, request, deadline_ns) && ReceiveMessage(socket_, answer, deadline_ns)) {
    return answer;
  }
  const bool late = MonotonicNs() >= deadline_ns;
  Stop();
  return late ? Error(Code::kLimit, "symbols: the debug information took too long to read")
              : Error(Code::kUnavailable, "symbols: the worker ended");
}

Result<std::vector<ResolvedFrame>> WorkerProcess::Ask(const WorkerRequest& request,
                                                      std::int64_t deadline_ns) {
  std::string message;
  AppendText(message, request.program);
  AppendText(message, request.debug);
  message.append(reinterpret_cast<const char*>(request.addresses.data()),
                 request.addresses.size_bytes());
  const bool was_running = socket_ >= 0;
  auto answer = Exchange(message, deadline_ns);
  // One that had nothing to do for a minute has left; that is no failure.
  if (!answer && answer.error().code() == Code::kUnavailable && was_running) {
    answer = Exchange(message, deadline_ns);
  }
  if (!answer) return std::move(answer).error();
  auto frames = DecodeFrames(*answer, request.addresses.size());
  if (!frames) Stop();
  return frames;
}

}  // namespace wherefore::symbols
