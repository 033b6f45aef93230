#include "gateway/process/rate_limit.h"

#include <algorithm>

#include <fmt/format.h>

namespace wherefore::gateway {
namespace {

// A sender who invents names gets no more memory than this.
constexpr std::size_t kMostServices = 10'000;

}  // namespace

RateLimit::Demand RateLimit::DemandOf(const profile::WriteRequest& request) {
  Demand demand;
  double all = 0;
  std::visit(
      [&](const auto& batch) {
        const auto add = [&](profile::Id resource, double items) {
          const std::string_view name = profile::ServiceName(batch, batch.resources[resource]);
          demand.try_emplace(std::string(name)).first->second.samples += items;
          all += items;
        };
        if constexpr (requires { batch.spans; }) {
          for (const profile::Span& span : batch.spans) add(span.resource, 1);
        } else {
          for (const profile::Profile& p : batch.profiles) add(p.resource, p.sample_count);
        }
      },
      request.data);
  // Bytes go by items: a request does not say which bytes are whose.
  for (auto& [name, wanted] : demand) {
    const double share = all > 0 ? wanted.samples / all : 1.0 / static_cast<double>(demand.size());
    wanted.bytes = share * static_cast<double>(request.body_bytes);
  }
  return demand;
}

RateLimit::Allowance& RateLimit::Grown(const std::string& service, std::int64_t now) {
  const auto [entry, added] = services_.try_emplace(service);
  Allowance& a = entry->second;
  const double seconds =
      added ? 1.0 : static_cast<double>(now - a.at_ns) / static_cast<double>(kNsPerSecond);
  a.samples =
      std::min(a.samples + seconds * options_.samples_per_second, options_.samples_per_second);
  a.bytes = std::min(a.bytes + seconds * options_.bytes_per_second, options_.bytes_per_second);
  a.at_ns = now;
  return a;
}

Result<> RateLimit::Process(profile::WriteRequest& request) {
  const Demand demand = DemandOf(request);
  const std::int64_t now = now_ns_();
  MutexLock lock(mutex_);
  if (services_.size() > kMostServices) services_.clear();
  for (const auto& [name, wanted] : demand) {
    const Allowance& a = Grown(name, now);
    const bool over = (options_.samples_per_second > 0 && a.samples <= 0) ||
                      (options_.bytes_per_second > 0 && a.bytes <= 0);
    if (over) {
      return Error(Code::kLimit,
                   fmt::format("rate_limit: service {} sends more than its limit", name));
    }
  }
  for (const auto& [name, wanted] : demand) {
    Allowance& a = services_[name];
    a.samples -= wanted.samples;
    a.bytes -= wanted.bytes;
  }
  return {};
}

}  // namespace wherefore::gateway
