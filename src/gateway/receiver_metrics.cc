#include "gateway/receiver_metrics.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::gateway {
namespace {

constexpr std::array kSignals = {formats::Signal::kProfiles, formats::Signal::kTraces};
constexpr std::array<std::string_view, kTransports> kTransportNames = {
    "grpc", "http", "http_json", "ingest", "push", "scrape"};

std::size_t Index(formats::Signal signal) {
  return signal == formats::Signal::kProfiles ? 0 : 1;
}

}  // namespace

std::string_view SignalName(formats::Signal signal) {
  return signal == formats::Signal::kProfiles ? "profiles" : "traces";
}

ReceiverMetrics::ReceiverMetrics() {
  Metrics& metrics = Metrics::Global();
  for (const formats::Signal signal : kSignals) {
    PerSignal& s = signals_[Index(signal)];
    const std::string name(SignalName(signal));
    const bool profiles = signal == formats::Signal::kProfiles;
    const std::size_t ways =
        profiles ? kTransports : static_cast<std::size_t>(Transport::kHttpJson) + 1;
    for (std::size_t i = 0; i < ways; ++i) {
      const MetricLabels labels = {{"signal", name},
                                   {"transport", std::string(kTransportNames[i])}};
      s.requests[i] =
          &metrics.GetCounter("wherefore_received_requests_total", "Requests received.", labels);
      s.bytes[i] = &metrics.GetCounter("wherefore_received_bytes_total",
                                       "Bytes of requests, decompressed.", labels);
    }
    s.repeated = &metrics.GetCounter("wherefore_repeated_requests_total",
                                     "Repeated requests, which were answered but not stored again.",
                                     {{"signal", name}});
  }
  PerSignal& profiles = signals_[Index(formats::Signal::kProfiles)];
  profiles.items = &metrics.GetCounter("wherefore_received_samples_total", "Samples received.");
  profiles.rejected =
      &metrics.GetCounter("wherefore_rejected_profiles_total",
                          "Profiles left out of requests that were otherwise kept.");
  PerSignal& traces = signals_[Index(formats::Signal::kTraces)];
  traces.items = &metrics.GetCounter("wherefore_received_spans_total", "Spans received.");
  traces.rejected = &metrics.GetCounter("wherefore_rejected_spans_total",
                                        "Spans left out of requests that were otherwise kept.");
}

void ReceiverMetrics::Received(formats::Signal signal, Transport transport,
                               std::size_t body_bytes) {
  PerSignal& s = signals_[Index(signal)];
  const auto way = static_cast<std::size_t>(transport);
  s.requests[way]->Add();
  s.bytes[way]->Add(body_bytes);
  s.last_ns.store(NowUnixNs(), std::memory_order_relaxed);
}

void ReceiverMetrics::Decoded(formats::Signal signal, std::size_t items) {
  signals_[Index(signal)].items->Add(items);
}

void ReceiverMetrics::Rejected(formats::Signal signal, std::uint64_t count) {
  if (count > 0) signals_[Index(signal)].rejected->Add(count);
}

void ReceiverMetrics::Repeated(formats::Signal signal) {
  signals_[Index(signal)].repeated->Add();
}

void ReceiverMetrics::Refused(formats::Signal signal, std::string_view reason) {
  signals_[Index(signal)].refused.fetch_add(1, std::memory_order_relaxed);
  // Rare enough for a lookup each time.
  Metrics::Global()
      .GetCounter("wherefore_refused_total", "Requests refused, with the reason.",
                  {{"signal", std::string(SignalName(signal))}, {"reason", std::string(reason)}})
      .Add();
}

void ReceiverMetrics::SinkFailed(std::string message) {
  {
    MutexLock lock(mutex_);
    failure_ = std::move(message);
  }
  failing_.store(true, std::memory_order_relaxed);
}

Status ReceiverMetrics::Report() const {
  Status status;
  status.part = "gateway";
  for (const formats::Signal signal : kSignals) {
    const PerSignal& s = signals_[Index(signal)];
    std::uint64_t requests = 0;
    for (const Counter* counter : s.requests) requests += counter == nullptr ? 0 : counter->value();
    std::string text = fmt::format("{} requests, {} {}, {} refused",
                                   FormatCount(static_cast<std::int64_t>(requests)),
                                   FormatCount(static_cast<std::int64_t>(s.items->value())),
                                   signal == formats::Signal::kProfiles ? "samples" : "spans",
                                   FormatCount(static_cast<std::int64_t>(s.refused.load())));
    if (const std::int64_t last = s.last_ns.load(); last != 0) {
      text += fmt::format(", last {} ago",
                          FormatDuration(std::max<std::int64_t>(NowUnixNs() - last, 0)));
    }
    status.facts.emplace_back(SignalName(signal), std::move(text));
  }
  if (failing_.load(std::memory_order_relaxed)) {
    MutexLock lock(mutex_);
    status.problems.push_back({"the last request could not be stored: " + failure_,
                               "senders were told to try again; look at the store's status",
                               false});
  }
  return status;
}

ComponentCounters::ComponentCounters(const std::string& receiver) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {"accepted", "refused", "failed"};
  for (const bool grpc : {false, true}) {
    for (const formats::Signal signal : kSignals) {
      const bool profiles = signal == formats::Signal::kProfiles;
      for (std::size_t i = 0; i < kOutcomes; ++i) {
        counters_[grpc ? 1 : 0][Index(signal)][i] = &Metrics::Global().GetCounter(
            fmt::format("otelcol_receiver_{}_{}_total", kNames[i],
                        profiles ? "profile_samples" : "spans"),
            "Items a receiver took, refused, or could not take because of this server.",
            {{"receiver", receiver}, {"transport", grpc ? "grpc" : "http"}});
      }
    }
  }
}

// The collector calls it refused if the next one said no, and failed if the fault is its own.
Counter& ComponentCounters::CounterOf(formats::Signal signal, Transport transport,
                                      const Error* error) const {
  const bool internal = error != nullptr && error->code() == Code::kInternal;
  const std::size_t outcome = error == nullptr ? 0 : internal ? 2 : 1;
  return *counters_[transport == Transport::kGrpc ? 1 : 0][Index(signal)][outcome];
}

}  // namespace wherefore::gateway
