#include "sdk/sample/waiting_threads.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "sdk/platform/clock.h"
#include "sdk/platform/task_list.h"
#include "sdk/sample/shared.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kTopBytes = 256;
constexpr std::uint64_t kPage = 4096;

std::uint64_t HashBytes(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  }
  return hash ^ (hash >> 32);
}

std::uint64_t ToPageEnd(std::uint64_t address) {
  return kPage - (address % kPage);
}

// Memory of this process that may be gone by the time it is read: a few pieces, one after the
// other, as far as they can be read.
class Pieces {
 public:
  // Page by page, so that what is readable before a page that is not is read.
  void Add(std::uint64_t address, std::size_t size) {
    for (std::size_t done = 0; done < size && count_ < pieces_.size();) {
      const auto piece = std::min<std::size_t>(ToPageEnd(address + done), size - done);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address from /proc
      pieces_[count_++] = {.iov_base = reinterpret_cast<void*>(address + done), .iov_len = piece};
      done += piece;
    }
  }
  // Gives how many bytes were read; 0 with errno.
  [[nodiscard]] std::size_t Read(std::span<const iovec> to) const {
    const ssize_t got = process_vm_readv(getpid(), to.data(), to.size(), pieces_.data(), count_, 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }

 private:
  std::array<iovec, 20> pieces_{};
  std::size_t count_ = 0;
};

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

// Whether a thread cannot run without its CPU clock showing it. Where the scheduler counts in ticks
// of its own clock, two readings in a row are the same.
bool CpuClockIsFine() {
  std::int64_t last = ClockNow(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t now = ClockNow(CLOCK_THREAD_CPUTIME_ID);
    if (now <= last) return false;
    last = now;
  }
  return true;
}

bool HasSpan(const ThreadRecord& context) {
  static constexpr std::uint8_t kNone[sizeof context.span_id] = {};
  return std::memcmp(context.span_id, kNone, sizeof kNone) != 0;
}

bool SameContext(const ThreadRecord& a, const ThreadRecord& b) {
  return std::memcmp(&a, &b, kHeadBytes) == 0 &&
         std::memcmp(a.labels, b.labels,
                     std::min<std::size_t>(a.tail.label_bytes(), kLabelBytes)) == 0;
}

}  // namespace

std::string WaitingThreads::WhyNot() {
  if (std::string why = WhyThreadIdsDiffer(); !why.empty()) return why;
  char text[256];
  if (ReadSmallFile("/proc/self/syscall", text, sizeof text) == 0 ||
      access("/proc/self/task/", R_OK | X_OK) != 0) {
    return "/proc/self/task is not readable here";
  }
  std::uint8_t copy[8];
  const iovec to = {.iov_base = copy, .iov_len = sizeof copy};
  Pieces pieces;
  pieces.Add(reinterpret_cast<std::uintptr_t>(text), sizeof copy);
  if (pieces.Read({&to, 1}) == 0)
    return "process_vm_readv: " + std::generic_category().message(errno);
  return {};
}

void WaitingThreads::NoteRefusal() {
  if (errno == EPERM || errno == EACCES || errno == ENOSYS)
    refused_.store(errno, std::memory_order_relaxed);
}

void WaitingThreads::ForgetAll() {
  lock_.HeldInChild();
  seen_.clear();
  lock_.ResetInChild();
}

std::size_t WaitingThreads::known() {
  const FutexLockHold hold(lock_);
  return seen_.size();
}

void WaitingThreads::KeepOnly(const std::vector<std::uint32_t>& tids) {
  const FutexLockHold hold(lock_);
  for (auto at = seen_.begin(); at != seen_.end();) {
    auto& [tid, seen] = *at;
    const bool stays = std::ranges::binary_search(tids, tid);
    if (!stays && seen.counted.any()) Publish(TakeCounted(tid, seen));
    at = stays ? std::next(at) : seen_.erase(at);
  }
}

void WaitingThreads::Take(const std::function<void(const Event&)>& take) {
  const FutexLockHold hold(lock_);
  for (auto& [tid, seen] : seen_) {
    if (seen.counted.any()) take(TakeCounted(tid, seen));
  }
}

WaitingThreads::Found WaitingThreads::Look(std::uint32_t tid, std::int64_t value, double waits) {
  const Counted counted = {.value = value, .waits = waits, .looks = 1};
  return Look(tid, counted);
}

WaitingThreads::Found WaitingThreads::Look(std::uint32_t tid, const Counted& count) {
  bool gone = false;
  const std::int64_t ran = Ran(tid, gone);
  if (gone) return Found::kGone;
  if (CountIfUnmoved(tid, ran, count)) return Found::kWaits;
  Waiting at;
  if (!ReadWaiting(tid, at)) return Found::kRuns;
  const ThreadRegistry::Thread thread = registry_.Find(tid);
  const Copied copied = Copy(thread, at.sp);
  const FutexLockHold hold(lock_);
  Seen& seen = seen_[tid];
  Follow(tid, at, copied, thread.stack_high, seen);
  seen.ran = ran;
  seen.counted.Add(count);
  return Found::kWaits;
}

void WaitingThreads::ReadTables() {
  if (!map_.slots().published()) map_.Update();
}

void WaitingThreads::Prolong(std::uint32_t tid, std::int64_t value) {
  const FutexLockHold hold(lock_);
  if (const auto found = seen_.find(tid); found != seen_.end())
    found->second.counted.value += value;
}

void WaitingThreads::Show(std::uint32_t tid) {
  const Found found = Look(tid, Counted{});
  if (found == Found::kGone) return;
  const FutexLockHold hold(lock_);
  const Seen runs;
  Event event = Describe(tid, found == Found::kRuns ? runs : seen_[tid]);
  event.kind = EventKind::kThread;
  event.value = 1;
  event.count = 1;
  Publish(event);
}

// Where that cannot be told it is not known, and every look is a whole one.
std::int64_t WaitingThreads::Ran(std::uint32_t tid, bool& gone) {
  static const bool fine = CpuClockIsFine();
  timespec used{};
  if (!fine) return kNotKnown;
  if (clock_gettime(ThreadCpuClock(tid), &used) != 0) {
    gone = errno == EINVAL || errno == ESRCH;
    return kNotKnown;
  }
  return (used.tv_sec * 1'000'000'000LL) + used.tv_nsec;
}

bool WaitingThreads::CountIfUnmoved(std::uint32_t tid, std::int64_t ran, const Counted& count) {
  if (ran == kNotKnown) return false;
  const FutexLockHold hold(lock_);
  const auto found = seen_.find(tid);
  if (found == seen_.end() || found->second.ran != ran || OutOfDate(found->second)) return false;
  // The wait goes on: it is no other.
  found->second.counted.Add({.value = count.value, .waits = 0, .looks = count.looks});
  return true;
}

bool WaitingThreads::ReadWaiting(std::uint32_t tid, Waiting& waiting) {
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

// The thread's context and its stack up to the end of a page, by one system call: mostly all of the
// stack that is needed.
WaitingThreads::Copied WaitingThreads::Copy(const ThreadRegistry::Thread& thread,
                                            std::uint64_t sp) {
  Copied copied;
  Pieces pieces;
  iovec to[2] = {{.iov_base = &copied.context, .iov_len = 0},
                 {.iov_base = copy_.data(), .iov_len = ToPageEnd(sp)}};
  if (to[1].iov_len < kTopBytes) to[1].iov_len += kPage;
  if (thread.context != 0) {
    to[0].iov_len = sizeof copied.context;
    pieces.Add(thread.context, sizeof copied.context);
  }
  pieces.Add(sp, to[1].iov_len);
  const std::size_t got = pieces.Read(to);
  if (got == 0) NoteRefusal();
  if (got < to[0].iov_len || !copied.context.tail.valid()) copied.context = {};
  copied.stack = got < to[0].iov_len ? 0 : got - to[0].iov_len;
  return copied;
}

// A stack that could not be followed may be followed with tables that have come since.
bool WaitingThreads::OutOfDate(const Seen& seen) {
  if (seen.pcs.empty()) return true;
  if (seen.end != StackEnd::kBroken) return false;
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  return reader.get() != nullptr && reader.get()->generation != seen.generation;
}

void WaitingThreads::Follow(std::uint32_t tid, const Waiting& at, const Copied& copied,
                            std::uint64_t stack_high, Seen& seen) {
  const std::uint64_t top = HashBytes(copy_.data(), std::min(copied.stack, kTopBytes));
  const bool same_stack = seen.at == at && seen.top == top && !OutOfDate(seen);
  if (same_stack && SameContext(seen.context, copied.context)) return;
  if (seen.counted.any()) Publish(TakeCounted(tid, seen));
  seen.context = copied.context;
  if (same_stack) return;
  seen.at = at;
  seen.top = top;
  std::size_t stack = copied.stack;
  if (at.sp + stack < stack_high || stack_high < at.sp) {
    Pieces all;
    std::size_t size = copy_.size();
    if (stack_high > at.sp) size = std::min<std::size_t>(size, stack_high - at.sp);
    const iovec to = {.iov_base = copy_.data(), .iov_len = size};
    all.Add(at.sp, size);
    stack = all.Read({&to, 1});
  }
  UnwindCopy(stack, seen);
}

void WaitingThreads::UnwindCopy(std::size_t copied, Seen& seen) {
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  seen.generation = reader.get() == nullptr ? 0 : reader.get()->generation;
  pcs_.resize(g_shared.queue.max_depth());
  UnwindEnd end = UnwindEnd::kNoTable;
  const int depth = Unwind(
      {.pc = seen.at.pc, .sp = seen.at.sp, .bp = 0, .bp_known = false},
      {.low = seen.at.sp, .high = seen.at.sp + copied, .copy = copy_.data(), .pid = getpid()},
      {.map = reader.get(), .cache = &cache_, .max_depth = static_cast<int>(pcs_.size())},
      pcs_.data(), &end);
  seen.pcs.assign(pcs_.begin(), pcs_.begin() + depth);
  seen.end = end == UnwindEnd::kComplete    ? StackEnd::kComplete
             : end == UnwindEnd::kTruncated ? StackEnd::kTruncated
                                            : StackEnd::kBroken;
}

// With what was counted, which is none afterwards.
Event WaitingThreads::TakeCounted(std::uint32_t tid, Seen& seen) {
  const Counted counted = std::exchange(seen.counted, {});
  Event event = Describe(tid, seen);
  event.kind = EventKind::kBlocked;
  event.value = counted.value;
  event.count = counted.waits;
  event.looks = std::max(counted.looks, 1U);  // Prolong() is no look of its own
  return event;
}

// Where it waits and for whom; its stack is that of `seen`.
Event WaitingThreads::Describe(std::uint32_t tid, const Seen& seen) {
  Event event{};
  event.end = seen.end;
  event.tid = tid;
  event.detail = seen.at.system_call;
  event.generation = seen.generation;
  event.depth = static_cast<std::uint16_t>(seen.pcs.size());
  event.pcs = const_cast<std::uint64_t*>(seen.pcs.data());  // NOLINT: nobody writes through it
  event.has_span = HasSpan(seen.context) ? 1 : 0;
  std::memcpy(event.trace, seen.context.trace_id, sizeof event.trace);
  std::memcpy(event.span, seen.context.span_id, sizeof event.span);
  const std::size_t labels = seen.context.tail.label_bytes();
  if (labels > sizeof event.labels) return event;
  std::memcpy(event.labels, seen.context.labels, labels);
  event.label_bytes = static_cast<std::uint16_t>(labels);
  return event;
}

void WaitingThreads::Publish(const Event& from) {
  Event* const event = g_shared.queue.Claim();
  if (event == nullptr)
    return g_shared.queue.CountLost(from.kind, {}, from.value, std::llround(from.count));
  std::uint64_t* const pcs = event->pcs;
  *event = from;
  event->pcs = pcs;
  std::copy_n(from.pcs, from.depth, pcs);
  PublishEvent(event);
}

}  // namespace wherefore::sdk
