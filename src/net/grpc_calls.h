// The open calls of one gRPC server: how many there may be, and for how long each may wait for its
// message or for its answer to be taken. Internal to src/net.
//
// Threads: any; one of its own looks for those whose time is over.
// Always:  at most `most` calls count; when there are as many, the one that has waited longest for
//          its message makes room, if it has waited for a while.
// Failure: Enter says when nobody can go; the new call is then refused.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <thread>

#include "base/metrics.h"
#include "base/mutex.h"

namespace wherefore::net {

class GrpcCalls {
 public:
  using Clock = std::chrono::steady_clock;
  // Ends a call that is too late. Of one that waits for its message it may come when the call is
  // over; of one that is being answered it does not, and it must not wait for anything.
  using End = std::function<void()>;

 private:
  struct Entry {
    Clock::time_point since;  // or, of an answer, until when
    End end;
    std::list<Entry>* in = nullptr;
    bool counted = true;
  };

 public:
  using Place = std::list<Entry>::iterator;

  GrpcCalls(std::size_t most, std::chrono::milliseconds for_message);
  GrpcCalls(const GrpcCalls&) = delete;
  GrpcCalls& operator=(const GrpcCalls&) = delete;
  ~GrpcCalls();

  // A call that now waits for its message. False: too many are open, and it has no place.
  [[nodiscard]] bool Enter(End give_up, Place& place) EXCLUDES(mutex_);
  // Its message is here.
  void Arrived(Place place) EXCLUDES(mutex_);
  // Its answer is being sent and must be taken by then.
  void Answering(Place place, Clock::time_point until, End cancel) EXCLUDES(mutex_);
  void Leave(Place place) EXCLUDES(mutex_);
  [[nodiscard]] std::size_t open() EXCLUDES(mutex_);

 private:
  void Move(Place place, std::list<Entry>& to) REQUIRES(mutex_);
  // Takes the one that waits longest out, when it has done so since before that moment.
  [[nodiscard]] End TakeOldest(Clock::time_point before) REQUIRES(mutex_);
  void Run() EXCLUDES(mutex_);

  const std::size_t most_;
  const std::chrono::milliseconds for_message_;
  Gauge& gauge_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::size_t open_ GUARDED_BY(mutex_) = 0;
  std::list<Entry> reading_ GUARDED_BY(mutex_);  // the longest first
  std::list<Entry> handled_ GUARDED_BY(mutex_);
  std::list<Entry> answering_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace wherefore::net
