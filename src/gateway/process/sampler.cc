#include "gateway/process/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wherefore::gateway {
namespace {

constexpr std::uint64_t kRange = std::uint64_t{1} << 56;

std::uint64_t ThresholdOf(double percentage) {
  const double gone = std::clamp(1 - percentage / 100, 0.0, 1.0);
  return static_cast<std::uint64_t>(std::llround(gone * static_cast<double>(kRange)));
}

}  // namespace

ProbabilisticSampler::ProbabilisticSampler(Options options)
    : options_(options), threshold_(ThresholdOf(options.percentage)) {}

bool ProbabilisticSampler::Keeps(const profile::TraceId& trace) const {
  std::uint64_t number = 0;
  if (options_.hash_seed == 0) {
    for (std::size_t i = 9; i < trace.size(); ++i) number = (number << 8) | trace[i];
  } else {
    number = HashBytes(trace.data(), trace.size(), options_.hash_seed).low & (kRange - 1);
  }
  return number >= threshold_;
}

Result<> ProbabilisticSampler::Process(profile::WriteRequest& request) {
  auto* const batch = std::get_if<profile::SpanBatch>(&request.data);
  if (batch == nullptr) return {};
  const std::size_t gone =
      std::erase_if(batch->spans, [this](const profile::Span& span) { return !Keeps(span.trace); });
  if (gone > 0) request.otlp_bytes.reset();
  return {};
}

}  // namespace wherefore::gateway
