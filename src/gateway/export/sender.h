// Sender: how one kind of exporter hands one request to the next hop, and what became of it.
//
// Threads: Send from several at once (as many as the queue has consumers); it blocks.
// Failure: in the outcome. Which answers mean what is decided here, once: docs/gateway.md,
//          "Exporters".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "formats/formats.h"
#include "net/grpc_client.h"
#include "net/http_client.h"

namespace wherefore::gateway {

struct Outcome {
  enum class Kind : std::uint8_t {
    kSent,          // it is the next hop's now
    kRetry,         // no answer, or "not now"
    kTooLarge,      // smaller ones may be taken
    kRefused,       // never
    kMisconfigured  // the same for every request, until somebody changes a configuration
  };
  Kind kind = Kind::kSent;
  std::string message;              // of a failure, or of a partial success
  std::uint64_t rejected = 0;       // profiles or spans, of a request that was sent
  std::int64_t retry_after_ns = 0;  // what the server asked for; 0: nothing
};

struct Request {
  formats::Signal signal = formats::Signal::kProfiles;
  std::string tenant;  // empty: none
  std::string bytes;   // OTLP, protobuf
};

class Sender {
 public:
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  // Before the first Send.
  virtual Result<> Start() { return {}; }
  [[nodiscard]] virtual Outcome Send(Request request, const CancelToken& stop) = 0;
  // Larger requests are halved before they are sent.
  [[nodiscard]] virtual std::size_t max_request_bytes() const { return 64u << 20; }
  [[nodiscard]] virtual bool Takes(formats::Signal /*signal*/) const { return true; }
};

// "120", or an HTTP date; 0 if it is neither or in the past. At most 300 s.
[[nodiscard]] std::int64_t RetryAfterNs(std::string_view header, std::int64_t now_unix_ns);

// `what` names the server in messages.
[[nodiscard]] Outcome OutcomeOf(const Result<net::ClientResponse>& response, std::string_view what);
[[nodiscard]] Outcome OutcomeOf(const net::GrpcAnswer& answer, std::string_view what);

}  // namespace wherefore::gateway
