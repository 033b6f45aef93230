// ProfilingGate: where profiles enter the pipelines of a receiver; `profiling:` and the API's word
// (control.h) are enforced here on senders that do not obey them.
//
// Threads: Write from any thread.
// Always:  profiles of a service that is off are left out and counted; the sender is told that they
//          were taken. What is changed is encoded anew further on (otlp_bytes).
#pragma once

#include <functional>
#include <memory>

#include "base/metrics.h"
#include "gateway/config/profiling_settings.h"
#include "gateway/profiling/limit_profiles.h"
#include "gateway/profiling/profiling.h"
#include "profile/sink.h"

namespace wherefore::gateway {

class ProfilingGate final : public profile::Sink {
 public:
  // `waiting`: where profiles with links wait for a decision; null: they do not.
  ProfilingGate(Profiling& profiling, const std::optional<ProfilingSettings>& settings,
                profile::Sink* waiting, profile::Sink* next);

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;

 private:
  void LeaveOut(profile::WriteRequest& request);
  void Limit(profile::WriteRequest& request);
  void Reduce(profile::WriteRequest& request, int level);

  Profiling& profiling_;
  const ProfileLimits limits_;
  profile::Sink* const waiting_;
  profile::Sink* const next_;
  Counter& cut_stacks_;
  Counter& cut_profiles_;
  Counter& shed_;
  Counter& refused_;
};

// Where spans enter the pipelines: notes which requests qualify for `profiling.conditional`.
class SpanWatch final : public profile::Sink {
 public:
  SpanWatch(Profiling& profiling, profile::Sink* next) : profiling_(profiling), next_(next) {}
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override {
    profiling_.traces().NoteSpans(request.tenant, std::get<profile::SpanBatch>(request.data));
    next_->Write(std::move(request), std::move(done));
  }

 private:
  Profiling& profiling_;
  profile::Sink* const next_;
};

}  // namespace wherefore::gateway
