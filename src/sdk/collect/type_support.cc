#include "sdk/collect/type_support.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "elf/elf_file.h"
#include "sdk/platform/log.h"
#include "sdk/platform/task_list.h"
#include "sdk/sample/hook_reach.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kCleanEnough = 600'000'000'000;

std::string CrashedBefore() {
  return "it crashed this program before; remove " + CrashMarkerPath() + " to try again";
}

}  // namespace

Result<> TypeSupport::Examine(const std::string& state_dir) {
  if (!state_dir.empty()) ReadMarker(state_dir);
  if (crashed_in_ == Part::kCollector) return Error(Code::kUnavailable, CrashedBefore());
  signal_ = InstallSampler();
  ExamineProc();
  return {};
}

void TypeSupport::ExamineProc() {
  thread_ids_trouble_ = WhyThreadIdsDiffer();
  wall_trouble_ = WaitingThreads::WhyNot();
}

void TypeSupport::ReadMarker(const std::string& state_dir) {
  const auto program = elf::ElfFile::Open("/proc/self/exe");
  if (!InstallCrashMarker(state_dir, program ? ToHex(program->build_id()) : "unknown")) {
    Log(LogLevel::kWarn,
        fmt::format("cannot write to the state directory {}: {}; what crashes is not remembered",
                    state_dir, std::system_category().message(errno)));
  }
  crashed_in_ = ReadCrashMarker();
  const auto mark = [this](Type type) { crashed_[static_cast<std::size_t>(type)] = true; };
  if (crashed_in_ == Part::kCpu) mark(Type::kCpu);
  if (crashed_in_ == Part::kHeap) mark(Type::kHeap);
  if (crashed_in_ == Part::kLocks) {
    mark(Type::kMutex);
    mark(Type::kBlock);
  }
  if (crashed_in_ == Part::kWall) {
    mark(Type::kWall);
    mark(Type::kOffCpu);
    mark(Type::kThreads);
  }
}

void TypeSupport::ForgetCrashAfter(std::int64_t clean_ns) {
  if (crashed_in_ == Part::kNone || clean_ns <= kCleanEnough) return;
  RemoveCrashMarker();
  crashed_in_ = Part::kNone;
}

void TypeSupport::GiveUpTimers() {
  timers_refused_ = logged_timers_ = true;  // the start line says so
}

bool TypeSupport::NoteRefusals() {
  bool off = false;
  if (wall_trouble_.empty() && waiting_.refused() != 0) {
    wall_trouble_ = "reading /proc/self/task and the stacks of threads: " +
                    std::generic_category().message(waiting_.refused());
    LogTrouble("wall, off_cpu and threads are off from here on: " + wall_trouble_);
    off = true;
  }
  if (!logged_timers_ && timers_.refused() != 0) {
    logged_timers_ = true;
    LogTrouble("not all threads are seen in the cpu profile: " + TimerTrouble());
  }
  return off;
}

std::string TypeSupport::Unavailable(Type type) const {
  if (crashed(type)) return CrashedBefore();
  switch (type) {
    case Type::kCpu:
      if (!thread_ids_trouble_.empty()) return thread_ids_trouble_;
      if (timers_refused_) return TimerTrouble();
      return signal_ == 0 ? "no signal is free for its timers" : "";
    case Type::kWall:
    case Type::kOffCpu:
    case Type::kThreads:
      return wall_trouble_;
    case Type::kHeap:
      return WhyNoAllocations();
    case Type::kMutex:
      return WhyNoLocks();
    case Type::kBlock:  // input and output are seen from outside
      return wall_trouble_.empty() ? "" : WhyNoLocks();
  }
  return "";
}

bool TypeSupport::Refused(Type type) const {
  if (crashed(type)) return true;
  if (type == Type::kCpu) return timers_.refused() != 0 || !thread_ids_trouble_.empty();
  const bool wall = type == Type::kWall || type == Type::kOffCpu || type == Type::kThreads;
  return wall && !wall_trouble_.empty();
}

std::string TypeSupport::Restriction(Type type) const {
  if (type == Type::kBlock && !WhyNoLocks().empty())
    return "input and output only: " + WhyNoLocks();
  if (type == Type::kBlock && !wall_trouble_.empty())
    return "without input and output: " + wall_trouble_;
  if (const std::string cpu = Unavailable(Type::kCpu); type == Type::kWall && !cpu.empty())
    return "waiting only: " + cpu;
  if (type == Type::kCpu && timers_.refused() != 0) return "not all threads: " + TimerTrouble();
  return {};
}

std::string TypeSupport::TimerTrouble() const {
  const int error = timers_.refused();
  return std::string(timers_.refused_call()) + ": " + std::generic_category().message(error);
}

}  // namespace wherefore::sdk
