#include "gateway/export/sender.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "gateway/intake.h"

namespace wherefore::gateway {
namespace {

constexpr std::int64_t kLongestPauseNs = 300 * kNsPerSecond;
constexpr std::size_t kQuoted = 300;  // characters of an answer that are shown

std::int64_t Capped(std::int64_t ns) {
  return std::clamp<std::int64_t>(ns, 0, kLongestPauseNs);
}

// The message of an OTLP or Connect error, or the beginning of whatever text there is.
std::string ErrorText(const net::ClientResponse& response) {
  const auto type = response.headers.find("Content-Type");
  const bool json = type != response.headers.end() && type->second.starts_with("application/json");
  std::string text = formats::DecodeRpcStatus(json, response.body).message;
  if (text.empty()) text = response.body;
  text = Sendable(text.substr(0, kQuoted));
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

Outcome::Kind KindOf(int http_status) {
  using Kind = Outcome::Kind;
  switch (http_status) {
    case 429:
    case 502:
    case 503:
    case 504:
      return Kind::kRetry;
    case 413:
      return Kind::kTooLarge;
    case 401:
    case 403:
    case 404:
      return Kind::kMisconfigured;
    default:
      // A redirect is not followed: it would send headers elsewhere.
      if (http_status >= 300 && http_status < 400) return Kind::kMisconfigured;
      return http_status >= 200 && http_status < 300 ? Kind::kSent : Kind::kRefused;
  }
}

}  // namespace

std::int64_t RetryAfterNs(std::string_view header, std::int64_t now_unix_ns) {
  if (const auto seconds = ParseUint(header)) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(*seconds, 300)) * kNsPerSecond;
  }
  std::tm time{};
  const std::string text(header);
  const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return 0;
  return Capped(timegm(&time) * kNsPerSecond - now_unix_ns);
}

Outcome OutcomeOf(const Result<net::ClientResponse>& response, std::string_view what) {
  using Kind = Outcome::Kind;
  if (!response) {
    // A URL or header that cannot be used is not the network's fault.
    const bool ours = response.error().code() == Code::kInvalid;
    return {.kind = ours ? Kind::kMisconfigured : Kind::kRetry,
            .message = response.error().message()};
  }
  Outcome outcome{.kind = KindOf(response->status)};
  if (outcome.kind == Kind::kSent) return outcome;
  outcome.message = fmt::format("{} answered {}: {}", what, response->status, ErrorText(*response));
  if (const auto after = response->headers.find("Retry-After"); after != response->headers.end())
    outcome.retry_after_ns = RetryAfterNs(after->second, NowUnixNs());
  return outcome;
}

Outcome OutcomeOf(const net::GrpcAnswer& answer, std::string_view what) {
  using Kind = Outcome::Kind;
  if (answer.status == 0) return {};
  const std::int64_t asked_ms = formats::DecodeRpcStatus(false, answer.details).retry_delay_ms;
  Outcome outcome{.kind = Kind::kRefused,
                  .message = fmt::format("{} answered {}: {}", what, answer.status,
                                         Sendable(answer.message.substr(0, kQuoted))),
                  .retry_after_ns = Capped(std::max<std::int64_t>(asked_ms, 0) * 1'000'000)};
  switch (answer.status) {
    case 1:   // CANCELLED
    case 4:   // DEADLINE_EXCEEDED
    case 10:  // ABORTED
    case 11:  // OUT_OF_RANGE
    case 14:  // UNAVAILABLE
    case 15:  // DATA_LOSS
      outcome.kind = Kind::kRetry;
      break;
    case 8:  // RESOURCE_EXHAUSTED: busy if it says until when; else a limit
      if (asked_ms >= 0) {
        outcome.kind = Kind::kRetry;
      } else if (answer.message.find("larger than max") != std::string::npos) {
        outcome.kind = Kind::kTooLarge;
      }
      break;
    case 7:  // PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED: as 403, 404 and 401
    case 12:
    case 16:
      outcome.kind = Kind::kMisconfigured;
      break;
    default:
      break;
  }
  return outcome;
}

}  // namespace wherefore::gateway
