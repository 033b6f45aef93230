// Replay: makes recorded profiles and spans look as if they had just happened, or some time ago.
//
// Everything moves by the same amount, so that the recording ends then and distances in it stay the
// same. Profiles, traces and spans get new ids, equal ones the same, so that links hold and a
// recording can be replayed any number of times. Plain values; one thread.
#pragma once

#include <cstdint>

#include "profile/batch.h"
#include "profile/span_batch.h"

namespace wherefore::cli {

class Replay {
 public:
  // Chooses random new ids.
  Replay();

  // Call first for everything in the recording,
  void Include(const profile::Batch& batch);
  void Include(const profile::SpanBatch& batch);
  // then this for each part.
  void Move(profile::Batch& batch, std::uint64_t then_ns) const;
  void Move(profile::SpanBatch& batch, std::uint64_t then_ns) const;

 private:
  void Include(std::uint64_t end_ns);

  std::uint64_t end_ns_ = 0;  // of the recording
  profile::TraceId trace_mask_{};
  profile::SpanId span_mask_{};
};

}  // namespace wherefore::cli
