// Intake: the last step of every receiver: passes decoded data to the sink and counts it. Any
// thread; `done` is called once, on whatever thread the sink finishes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "formats/formats.h"
#include "gateway/receiver_metrics.h"
#include "profile/sink.h"
#include "profile/tenant.h"

namespace wherefore::gateway {

// A message may quote a sender's bytes; this makes it valid UTF-8 of bounded length.
[[nodiscard]] std::string Sendable(std::string message);

// A short stable reason for a refusal: "malformed", "overloaded", "unavailable", ...
[[nodiscard]] std::string_view ReasonOf(Code code);

class Intake {
 public:
  using Done = std::function<void(Result<profile::WriteAnswer>)>;
  struct Origin {
    formats::Signal signal = formats::Signal::kProfiles;
    profile::Tenant tenant;
    Hash128 identity;  // see WriteRequest
    std::size_t body_bytes = 0;
    std::optional<profile::FirstReading> counters;  // see WriteRequest
    std::shared_ptr<const std::string> otlp_bytes;  // see WriteRequest
    Transport transport = Transport::kHttp;
  };

  // `receiver`: its id in the configuration, for the collector's metrics; empty: not counted there.
  Intake(profile::Sink& sink, std::shared_ptr<ReceiverMetrics> metrics,
         const std::string& receiver = {});

  void Write(const Origin& origin, formats::DecodedProfiles decoded, Done done);
  void Write(const Origin& origin, formats::DecodedSpans decoded, Done done);
  [[nodiscard]] ReceiverMetrics& metrics() const { return *metrics_; }
  [[nodiscard]] const std::shared_ptr<ReceiverMetrics>& shared_metrics() const { return metrics_; }

 private:
  template <typename Data>
  void WriteData(const Origin& origin, formats::Decoded<Data> decoded, std::size_t items,
                 bool empty, Done done);

  profile::Sink& sink_;
  // Shared, because answers may come after this object is gone.
  std::shared_ptr<ReceiverMetrics> metrics_;
  std::shared_ptr<const ComponentCounters> component_;  // null: none
};

}  // namespace wherefore::gateway
