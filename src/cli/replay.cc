#include "cli/replay.h"

#include <algorithm>
#include <random>

namespace wherefore::cli {
namespace {

template <typename Bytes>
void Randomise(Bytes& bytes) {
  std::random_device random;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
}

// The zero id stays zero.
template <typename Bytes>
void Mask(Bytes& id, const Bytes& mask) {
  if (id == Bytes{}) return;
  for (std::size_t i = 0; i < id.size(); ++i) id[i] ^= mask[i];
}

}  // namespace

Replay::Replay() {
  Randomise(trace_mask_);
  Randomise(span_mask_);
}

void Replay::Include(std::uint64_t end_ns) {
  end_ns_ = std::max(end_ns_, end_ns);
}

void Replay::Include(const profile::Batch& batch) {
  for (const profile::Profile& p : batch.profiles) Include(p.time_ns + p.duration_ns);
}

void Replay::Include(const profile::SpanBatch& batch) {
  for (const profile::Span& s : batch.spans) Include(s.end_ns);
}

void Replay::Move(profile::Batch& batch, std::uint64_t then_ns) const {
  const std::uint64_t offset = then_ns - end_ns_;  // wraps for recordings from the future
  for (profile::Profile& p : batch.profiles) {
    if (p.time_ns != 0) p.time_ns += offset;
    Mask(p.id, trace_mask_);
  }
  for (std::uint64_t& time : batch.times) time += offset;
  for (profile::Link& link : batch.links) {
    Mask(link.trace, trace_mask_);
    Mask(link.span, span_mask_);
  }
}

void Replay::Move(profile::SpanBatch& batch, std::uint64_t then_ns) const {
  const std::uint64_t offset = then_ns - end_ns_;
  for (profile::Span& s : batch.spans) {
    s.start_ns += offset;
    s.end_ns += offset;
    Mask(s.trace, trace_mask_);
    Mask(s.id, span_mask_);
    Mask(s.parent, span_mask_);
  }
  for (profile::SpanEvent& event : batch.events) event.time_ns += offset;
  for (profile::SpanLink& link : batch.links) {
    Mask(link.trace, trace_mask_);
    Mask(link.span, span_mask_);
  }
}

}  // namespace wherefore::cli
