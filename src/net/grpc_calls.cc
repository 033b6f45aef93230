#include "net/grpc_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace wherefore::net {
namespace {

// When there are too many calls, one without a message for this long is ended.
constexpr std::chrono::seconds kStalled{2};

}  // namespace

GrpcCalls::GrpcCalls(const Limits& limits)
    : limits_(limits),
      gauge_(Metrics::Global().GetGauge("wherefore_grpc_open_calls", "gRPC calls that are open.")),
      thread_([this] { Run(); }) {}

GrpcCalls::~GrpcCalls() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  thread_.join();
}

bool GrpcCalls::Enter(End give_up, Place& place) {
  End oldest;
  {
    MutexLock lock(mutex_);
    if (open_ >= limits_.calls) {
      oldest = TakeOldest(Clock::now() - kStalled);
      if (!oldest) return false;
    }
    place = reading_.insert(reading_.end(),
                            {.since = Clock::now(), .end = std::move(give_up), .in = &reading_});
    ++open_;
    gauge_.Add(1);
  }
  if (oldest) oldest();
  return true;
}

GrpcCalls::End GrpcCalls::TakeOldest(Clock::time_point before) {
  if (reading_.empty() || reading_.front().since > before) return nullptr;
  const Place oldest = reading_.begin();
  oldest->counted = false;
  --open_;
  gauge_.Add(-1);
  Move(oldest, handled_);
  return std::move(oldest->end);
}

void GrpcCalls::Move(Place place, std::list<Entry>& to) {
  to.splice(to.end(), *std::exchange(place->in, &to), place);
}

void GrpcCalls::Arrived(Place place) {
  MutexLock lock(mutex_);
  Move(place, handled_);
}

void GrpcCalls::Answering(Place place, Clock::time_point until, Taken taken, End cancel) {
  MutexLock lock(mutex_);
  place->since = until;
  place->end = std::move(cancel);
  place->taken_before = taken().value_or(0);
  place->taken = std::move(taken);
  place->window_end = Clock::now() + limits_.window;
  Move(place, answering_);
}

void GrpcCalls::Leave(Place place) {
  MutexLock lock(mutex_);
  if (place->counted) {
    --open_;
    gauge_.Add(-1);
  }
  place->in->erase(place);
}

bool GrpcCalls::IsStalled(Entry& answer, Clock::time_point now) const {
  if (now >= answer.since) return true;
  if (now < answer.window_end) return false;
  const auto taken = answer.taken();
  if (taken && *taken - answer.taken_before < limits_.least_bytes) return true;
  answer.taken_before = taken.value_or(0);
  answer.window_end = now + limits_.window;
  return false;
}

std::size_t GrpcCalls::open() {
  MutexLock lock(mutex_);
  return open_;
}

void GrpcCalls::Run() {
  const auto pause =
      std::clamp<std::chrono::milliseconds>(std::min(limits_.for_message, limits_.window) / 4,
                                            std::chrono::milliseconds(10), std::chrono::seconds(1));
  while (true) {
    std::vector<End> late;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      stop_.WaitUntil(mutex_, Clock::now() + pause);
      if (stopping_) return;
      const Clock::time_point now = Clock::now();
      while (End one = TakeOldest(now - limits_.for_message)) late.push_back(std::move(one));
      for (Entry& answer : answering_) {
        // Under the lock, because otherwise the call might end meanwhile.
        if (answer.end && IsStalled(answer, now)) std::exchange(answer.end, nullptr)();
      }
    }
    for (const End& one : late) one();
  }
}

}  // namespace wherefore::net
