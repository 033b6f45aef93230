#include "gateway/intake.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::gateway {

std::string Sendable(std::string message) {
  constexpr std::size_t kLongest = 64u << 10;  // OTLP: a response stays well under 4 MiB
  message.resize(std::min(message.size(), kLongest));
  if (!IsValidUtf8(message)) {
    for (char& c : message) c = static_cast<std::uint8_t>(c) >= 0x80 ? '?' : c;
  }
  return message;
}

std::string_view ReasonOf(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kCorrupt:
      return "malformed";
    case Code::kLimit:
      return "overloaded";
    case Code::kUnavailable:
    case Code::kIo:
    case Code::kCancelled:
      return "unavailable";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kUnauthenticated:
      return "forbidden";
    case Code::kNotFound:
    case Code::kInternal:
      break;
  }
  return "internal";
}

Intake::Intake(profile::Sink& sink, std::shared_ptr<ReceiverMetrics> metrics,
               const std::string& receiver)
    : sink_(sink), metrics_(std::move(metrics)) {
  if (!receiver.empty()) component_ = std::make_shared<const ComponentCounters>(receiver);
}

template <typename Data>
void Intake::WriteData(const Origin& origin, formats::Decoded<Data> decoded, std::size_t items,
                       bool empty, Done done) {
  metrics_->Decoded(origin.signal, items);
  profile::WriteRequest write;
  write.decoded = {decoded.rejected, std::move(decoded.message), false};
  if (empty) {  // an empty request, or everything was rejected
    metrics_->Rejected(origin.signal, write.decoded.rejected);
    write.decoded.message = Sendable(std::move(write.decoded.message));
    return done(std::move(write.decoded));
  }
  write.data = std::move(decoded.data);
  write.identity = origin.identity;
  write.tenant = origin.tenant.number;
  write.tenant_name = origin.tenant.name;
  write.body_bytes = origin.body_bytes;
  write.arrival_ns = NowUnixNs();
  write.counters = origin.counters;
  if (write.decoded.rejected == 0) write.otlp_bytes = origin.otlp_bytes;
  sink_.Write(std::move(write), [metrics = metrics_, component = component_, items,
                                 transport = origin.transport, signal = origin.signal,
                                 reply = std::move(done)](Result<profile::WriteAnswer> result) {
    if (component) component->Count(signal, transport, items, result);
    if (!result) {
      const std::string_view reason = ReasonOf(result.error().code());
      metrics->Refused(signal, reason);
      if (reason == "unavailable" || reason == "internal") {
        metrics->SinkFailed(Sendable(result.error().message()));
      }
      return reply(std::move(result));
    }
    metrics->SinkWorked();
    if (result->repeated) {
      metrics->Repeated(signal);
    } else {
      metrics->Rejected(signal, result->rejected);
    }
    result->message = Sendable(std::move(result->message));
    reply(std::move(result));
  });
}

void Intake::Write(const Origin& origin, formats::DecodedProfiles decoded, Done done) {
  const std::size_t samples = decoded.data.samples.size();
  const bool empty = decoded.data.profiles.empty();
  WriteData(origin, std::move(decoded), samples, empty, std::move(done));
}

void Intake::Write(const Origin& origin, formats::DecodedSpans decoded, Done done) {
  const std::size_t spans = decoded.data.spans.size();
  WriteData(origin, std::move(decoded), spans, spans == 0, std::move(done));
}

}  // namespace wherefore::gateway
