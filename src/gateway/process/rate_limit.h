// The processor `rate_limit`: how much each service may send. A request that goes over it is
// refused whole, and the sender told to come again. Any thread.
//
// Each service has an allowance that grows with time, up to one second's worth. A request is taken
// while there is any left, whatever its size, and what it takes too much is waited for afterwards:
// no request is too large for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "gateway/process/processor.h"

namespace wherefore::gateway {

class RateLimit final : public Processor {
 public:
  struct Options {
    double samples_per_second = 0;  // spans count as samples; 0: no limit
    double bytes_per_second = 0;
  };
  explicit RateLimit(Options options, std::function<std::int64_t()> now_ns = MonotonicNs)
      : options_(options), now_ns_(std::move(now_ns)) {}
  Result<> Process(profile::WriteRequest& request) override;

 private:
  struct Allowance {
    double samples = 0;
    double bytes = 0;
    std::int64_t at_ns = 0;
  };
  struct Wanted {
    double samples = 0;
    double bytes = 0;
  };
  using Demand = std::map<std::string, Wanted, std::less<>>;

  static Demand DemandOf(const profile::WriteRequest& request);
  Allowance& Grown(const std::string& service, std::int64_t now) REQUIRES(mutex_);

  const Options options_;
  const std::function<std::int64_t()> now_ns_;
  Mutex mutex_;
  std::map<std::string, Allowance, std::less<>> services_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::gateway
