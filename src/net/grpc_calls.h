// The open calls of one gRPC server: how many there may be, how long each may wait for its message,
// and how slowly its answer may be read. Internal to src/net.
//
// Threads: any; a thread of its own ends calls whose time is up.
// Always:  at most `most` calls are open. When full, the call that has waited longest for its
//          message is ended, if it has waited for a while.
// Failure: Enter() tells if no call can be ended; the new call is then refused.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "base/metrics.h"
#include "base/mutex.h"

namespace wherefore::net {

class GrpcCalls {
 public:
  using Clock = std::chrono::steady_clock;
  // Ends a call that is late. For a call that waits for its message it may run after the call is
  // over; for a call that is being answered it does not, and it must not block.
  using End = std::function<void()>;
  // Bytes its client has taken so far; none if that is not known.
  using Taken = std::function<std::optional<std::uint64_t>()>;
  struct Limits {
    std::size_t calls = 0;
    std::chrono::milliseconds for_message{};
    // So much of an answer must be read in each window.
    std::chrono::milliseconds window{};
    std::uint64_t least_bytes = 0;
  };

 private:
  struct Entry {
    Clock::time_point since;  // for an answer: its deadline
    End end;
    std::list<Entry>* in = nullptr;
    bool counted = true;
    Taken taken;
    Clock::time_point window_end;
    std::uint64_t taken_before = 0;  // the window
  };

 public:
  using Place = std::list<Entry>::iterator;

  explicit GrpcCalls(const Limits& limits);
  GrpcCalls(const GrpcCalls&) = delete;
  GrpcCalls& operator=(const GrpcCalls&) = delete;
  ~GrpcCalls();

  // A new call, which now waits for its message. False if too many calls are open.
  [[nodiscard]] bool Enter(End give_up, Place& place) EXCLUDES(mutex_);
  // Its message has arrived.
  void Arrived(Place place) EXCLUDES(mutex_);
  // Its answer is being sent: some of it must be read in each window, and all of it until then.
  void Answering(Place place, Clock::time_point until, Taken taken, End cancel) EXCLUDES(mutex_);
  void Leave(Place place) EXCLUDES(mutex_);
  [[nodiscard]] std::size_t open() EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool IsStalled(Entry& answer, Clock::time_point now) const REQUIRES(mutex_);
  void Move(Place place, std::list<Entry>& to) REQUIRES(mutex_);
  // Removes and returns the longest waiting call if it has waited since before that time.
  [[nodiscard]] End TakeOldest(Clock::time_point before) REQUIRES(mutex_);
  void Run() EXCLUDES(mutex_);

  const Limits limits_;
  Gauge& gauge_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::size_t open_ GUARDED_BY(mutex_) = 0;
  std::list<Entry> reading_ GUARDED_BY(mutex_);  // longest waiting first
  std::list<Entry> handled_ GUARDED_BY(mutex_);
  std::list<Entry> answering_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace wherefore::net
