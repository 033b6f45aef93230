#include "sdk/sample/wall_sampler.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "sdk/context/context.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/task_list.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {
namespace {

constexpr double kMostReadsPerSecond = 800;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kTopBytes = 256;
constexpr std::size_t kMostListed = 4096;  // threads in one listing

std::uint64_t HashBytes(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  }
  return hash ^ (hash >> 32);
}

// Copies what can be read from `address` on, page by page, and gives how much that was; 0 with
// errno.
std::size_t CopyMemory(std::uint64_t address, std::uint8_t* out, std::size_t size) {
  constexpr std::size_t kPage = 4096;
  std::array<iovec, 17> remote{};
  std::size_t pieces = 0;
  for (std::size_t done = 0; done < size && pieces < remote.size();) {
    const std::size_t piece = std::min(kPage - ((address + done) % kPage), size - done);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address from /proc
    remote[pieces++] = {.iov_base = reinterpret_cast<void*>(address + done), .iov_len = piece};
    done += piece;
  }
  const iovec local = {.iov_base = out, .iov_len = size};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, remote.data(), pieces, 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

// The content of a small /proc file, zero-terminated; 0, with errno, when it cannot be read.
std::size_t ReadSmallFile(const char* path, char* out, std::size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, out, size - 1);
  const int error = got == 0 ? 0 : errno;
  close(file);
  errno = error;
  if (got <= 0) return 0;
  out[got] = '\0';
  return static_cast<std::size_t>(got);
}

}  // namespace

std::string WallSampler::WhyNot() {
  if (std::string why = WhyThreadIdsDiffer(); !why.empty()) return why;
  char text[256];
  std::uint8_t copy[8];
  if (ReadSmallFile("/proc/self/syscall", text, sizeof text) == 0 ||
      access("/proc/self/task/", R_OK | X_OK) != 0) {
    return "/proc/self/task is not readable here";
  }
  if (CopyMemory(reinterpret_cast<std::uintptr_t>(text), copy, sizeof copy) == 0) {
    return "process_vm_readv: " + std::generic_category().message(errno);
  }
  return {};
}

// Whether the last system call failed for good, not for the one thread that was looked at.
void WallSampler::NoteRefusal() {
  if (errno == EPERM || errno == EACCES || errno == ENOSYS)
    refused_.store(errno, std::memory_order_relaxed);
}

bool WallSampler::Start(double rate, std::int64_t since) {
  rate_.store(rate, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  if (thread_.running()) return true;
  since_ = since;
  return thread_.Start(
      "wherefore-wall", [](void* self) { static_cast<WallSampler*>(self)->Run(); }, this);
}

void WallSampler::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  wake_.Signal();
  thread_.Join();
}

void WallSampler::SetRate(double rate) {
  if (rate_.exchange(rate, std::memory_order_relaxed) != rate) wake_.Signal();
}

void WallSampler::RequestThreads() {
  list_all_.store(true, std::memory_order_relaxed);
  wake_.Signal();
}

void WallSampler::Forget() {
  thread_.Forget();
  seen_.clear();
  tids_.clear();
  list_at_ = 0;
  list_at_earliest_ = 0;
}

void WallSampler::Run() {
  const Inside inside(Part::kWall);
  std::int64_t last = since_;
  while (!stop_.load(std::memory_order_relaxed)) {
    const double rate = rate_.load(std::memory_order_relaxed);
    // Half to one and a half times the distance: a program that works in step would look the same
    // at every tick.
    const double pause = rate > 0 ? (0.5 + NextUnit(random_)) / rate : 1;
    const bool called =
        wake_.WaitFor(static_cast<std::int64_t>(pause * static_cast<double>(kSecond)));
    if (stop_.load(std::memory_order_relaxed)) return;
    const std::int64_t now = MonotonicNow();
    if (now >= list_at_ || (registry_.changes() != listed_changes_ && now >= list_at_earliest_))
      List(now);
    if (list_all_.exchange(false, std::memory_order_relaxed)) ListAll();
    if (rate <= 0) last = now;  // a pause is not looked back upon
    if (called) continue;       // somebody wanted something; the tick is not due yet
    if (rate > 0) Tick(now - last);
    last = now;
  }
}

// Once a second, and whenever threads came or went, as long as listing them takes one part in 500.
void WallSampler::List(std::int64_t now) {
  listed_changes_ = registry_.changes();
  if (!ListThreads(tids_)) NoteRefusal();
  std::erase_if(tids_, [this](std::uint32_t tid) { return registry_.IsOwn(tid); });
  if (seen_.size() > 2 * tids_.size() + 64) seen_.clear();
  list_at_ = now + kSecond;
  list_at_earliest_ = now + (500 * (MonotonicNow() - now));
}

void WallSampler::Tick(std::int64_t elapsed_ns) {
  const std::size_t n = tids_.size();
  if (n == 0) return;
  const double rate = rate_.load(std::memory_order_relaxed);
  const auto most =
      static_cast<std::size_t>(std::max(1.0, kMostReadsPerSecond / std::max(rate, 1.0)));
  const std::size_t k = std::min(n, most);
  const double weight = static_cast<double>(n) / static_cast<double>(k);
  const auto value = static_cast<std::int64_t>(static_cast<double>(elapsed_ns) * weight);
  for (std::size_t i = 0; i < k; ++i) {
    // The first k of a shuffle: each thread is as likely as any other.
    std::swap(tids_[i], tids_[i + (NextRandom(random_) % (n - i))]);
    Look(tids_[i], EventKind::kBlocked, value, weight);
  }
}

void WallSampler::ListAll() {
  ListThreads(tids_);
  std::erase_if(tids_, [this](std::uint32_t tid) { return registry_.IsOwn(tid); });
  const std::size_t n = std::min(tids_.size(), kMostListed);
  for (std::size_t i = 0; i < n; ++i) Look(tids_[i], EventKind::kThread, 1, 1);
}

void WallSampler::Look(std::uint32_t tid, EventKind kind, std::int64_t value, double weight) {
  if (registry_.IsOwn(tid)) return;  // started after threads were listed
  Waiting waiting;
  if (!ReadWaiting(tid, waiting)) {
    if (kind == EventKind::kThread) Emit(tid, kind, {}, waiting, value, weight);
    return;
  }
  Seen& seen = seen_[tid];
  const bool moved = Follow(waiting, seen);
  // A wait that goes on is one wait, however often it is seen.
  Emit(tid, kind, seen, waiting, value, moved ? weight : 0);
}

bool WallSampler::ReadWaiting(std::uint32_t tid, Waiting& waiting) {
  char path[48];
  char text[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
  if (ReadSmallFile(path, text, sizeof text) == 0) {
    NoteRefusal();
    return false;
  }
  if (text[0] == 'r') return false;  // "running"
  // "number argument*6 sp pc", or "-1 sp pc" for a thread that waits outside a system call.
  char* at = text;
  std::uint64_t fields[9] = {};
  int count = 0;
  for (; count < 9; ++count) {
    char* end = nullptr;
    fields[count] = std::strtoull(at, &end, 0);
    if (end == at) break;
    at = end;
  }
  if (count != 9 && count != 3) return false;
  waiting = {.system_call = fields[0], .sp = fields[count - 2], .pc = fields[count - 1]};
  return true;
}

// A stack that could not be followed may be followed with tables that have come since.
bool WallSampler::OutOfDate(const Seen& seen) {
  if (seen.pcs.empty()) return true;
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  return seen.end == StackEnd::kBroken && reader.get() != nullptr &&
         reader.get()->generation != seen.generation;
}

bool WallSampler::Follow(const Waiting& waiting, Seen& seen) {
  std::size_t copied = CopyMemory(waiting.sp, copy_.data(), kTopBytes);
  if (copied == 0) NoteRefusal();
  const std::uint64_t top = HashBytes(copy_.data(), copied);
  if (seen.pc == waiting.pc && seen.sp == waiting.sp && seen.top == top && !OutOfDate(seen))
    return false;
  copied = CopyMemory(waiting.sp, copy_.data(), copy_.size());
  seen.pc = waiting.pc;
  seen.sp = waiting.sp;
  seen.top = top;
  UnwindCopy(waiting, copied, seen);
  return true;
}

void WallSampler::UnwindCopy(const Waiting& waiting, std::size_t copied, Seen& seen) {
  if (!map_.slots().published()) map_.Update();  // the first sample of this process
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  seen.generation = reader.get() == nullptr ? 0 : reader.get()->generation;
  seen.pcs.resize(g_shared.queue.max_depth());
  UnwindEnd end = UnwindEnd::kNoTable;
  const int depth = Unwind(
      {.pc = waiting.pc, .sp = waiting.sp, .bp = 0, .bp_known = false},
      {.low = waiting.sp, .high = waiting.sp + copied, .copy = copy_.data(), .pid = getpid()},
      {.map = reader.get(), .cache = &cache_, .max_depth = static_cast<int>(seen.pcs.size())},
      seen.pcs.data(), &end);
  seen.pcs.resize(static_cast<std::size_t>(depth));
  seen.end = end == UnwindEnd::kComplete    ? StackEnd::kComplete
             : end == UnwindEnd::kTruncated ? StackEnd::kTruncated
                                            : StackEnd::kBroken;
}

void WallSampler::Emit(std::uint32_t tid, EventKind kind, const Seen& seen, const Waiting& waiting,
                       std::int64_t value, double weight) {
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) return g_shared.queue.CountLost(kind, {}, value, std::llround(weight));
  event->kind = kind;
  event->end = seen.end;
  event->tid = tid;
  event->detail = waiting.system_call;
  event->generation = seen.generation;
  event->value = value;
  event->count = weight;
  event->depth = static_cast<std::uint16_t>(seen.pcs.size());
  std::ranges::copy(seen.pcs, event->pcs);
  CopyContext(tid, *event);
  PublishEvent(event);
}

void WallSampler::CopyContext(std::uint32_t tid, Event& event) const {
  event.has_span = 0;
  event.label_bytes = 0;
  const std::uintptr_t address = registry_.ContextOf(tid);
  ThreadRecord record{};
  if (address == 0 || CopyMemory(address, reinterpret_cast<std::uint8_t*>(&record),
                                 sizeof record) != sizeof record) {
    return;
  }
  if (!record.tail.valid()) return;
  static constexpr std::uint8_t kNone[8] = {};
  event.has_span = std::memcmp(record.span_id, kNone, sizeof kNone) != 0 ? 1 : 0;
  std::memcpy(event.trace, record.trace_id, sizeof event.trace);
  std::memcpy(event.span, record.span_id, sizeof event.span);
  const std::size_t labels = record.tail.label_bytes();
  if (labels > sizeof event.labels) return;
  std::memcpy(event.labels, record.labels, labels);
  event.label_bytes = static_cast<std::uint16_t>(labels);
}

}  // namespace wherefore::sdk
