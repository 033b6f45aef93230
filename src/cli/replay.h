// Replay: recorded profiles and spans as if they had just happened.
//
// Everything is moved by one constant, so that the whole recording ends now and nothing in it is
// closer together or further apart than it was; and every profile, trace and span gets a new id, the
// same for all that had the same, so that links hold and a recording can be replayed any number of
// times. Plain values; one thread.
#pragma once

#include <cstdint>

#include "profile/batch.h"
#include "profile/span_batch.h"

namespace wherefore::cli {

class Replay {
 public:
  // With random new ids.
  Replay();

  // First for everything that belongs to the recording...
  void Include(const profile::Batch& batch);
  void Include(const profile::SpanBatch& batch);
  // ...then for each to be moved.
  void Move(profile::Batch& batch, std::uint64_t now_ns) const;
  void Move(profile::SpanBatch& batch, std::uint64_t now_ns) const;

 private:
  void Include(std::uint64_t end_ns);

  std::uint64_t end_ns_ = 0;  // of the recording
  profile::TraceId trace_mask_{};
  profile::SpanId span_mask_{};
};

}  // namespace wherefore::cli
