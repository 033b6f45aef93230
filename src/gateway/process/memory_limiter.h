// The processor `memory_limiter`: while this process uses more memory than it should, senders are
// told to come again. Any thread; memory is looked at by whichever request comes first after
// `check_interval`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "gateway/process/processor.h"

namespace wherefore::gateway {

class MemoryLimiter final : public Processor {
 public:
  struct Options {
    std::int64_t check_interval_ns = 0;
    std::uint64_t limit_mib = 0;  // 0: by percentage
    double limit_percentage = 0;  // of what this process may use
    std::uint64_t spike_limit_mib = 0;
    double spike_limit_percentage = 0;  // both 0: a fifth of the limit
  };
  // The bytes above which requests are refused: limit - spike.
  [[nodiscard]] static std::uint64_t SoftLimit(const Options& options, std::uint64_t memory);

  // `used`: anonymous memory now.
  MemoryLimiter(Options options, std::function<std::uint64_t()> used);
  Result<> Process(profile::WriteRequest& request) override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> facts() const override;

 private:
  const Options options_;
  const std::uint64_t soft_limit_;
  const std::function<std::uint64_t()> used_;
  std::atomic<std::int64_t> next_check_ns_{0};
  std::atomic<std::uint64_t> last_used_{0};
};

// Anonymous memory of this process.
[[nodiscard]] std::uint64_t AnonymousBytes();

}  // namespace wherefore::gateway
