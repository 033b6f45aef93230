#include "sdk/net/opamp_client.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kUnknownAgainNs = 3600 * kNsPerSecond;
constexpr std::int64_t kLongestToldNs = 3600 * kNsPerSecond;
constexpr int kMostRequests = 3;
constexpr std::uint64_t kCapabilities = kReportsStatus | kAcceptsRemoteConfig |
                                        kReportsEffectiveConfig | kReportsHealth |
                                        kReportsRemoteConfig | kReportsHeartbeat;

// A UUID of version 7: the time in milliseconds, then random bits.
OpampUid MakeUid() {
  OpampUid uid{};
  if (getrandom(uid.data(), uid.size(), GRND_NONBLOCK) != static_cast<ssize_t>(uid.size())) {
    // So early in the machine's life that there is no entropy.
    const std::uint64_t words[2] = {static_cast<std::uint64_t>(MonotonicNs()),
                                    static_cast<std::uint64_t>(getpid()) * 0x9e3779b97f4a7c15ULL};
    std::memcpy(uid.data(), words, sizeof(words));
  }
  const auto ms = static_cast<std::uint64_t>(NowUnixNs() / 1'000'000);
  for (std::size_t i = 0; i < 6; ++i) uid[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  uid[6] = static_cast<std::uint8_t>((uid[6] & 0x0f) | 0x70);
  uid[8] = static_cast<std::uint8_t>((uid[8] & 0x3f) | 0x80);
  return uid;
}

std::string UidText(const OpampUid& uid) {
  std::string text = ToHex(uid);
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, "-");
  return text;
}

std::string_view BytesOf(const OpampUid& uid) {
  return {reinterpret_cast<const char*>(uid.data()), uid.size()};
}

}  // namespace

OpampClient::OpampClient(const Options& options, Url url, const OpampHost& host)
    : options_(options),
      host_(host),
      client_(std::move(url), options.ca_file),
      uid_(MakeUid()),
      uid_text_(UidText(uid_)),
      started_ns_(static_cast<std::uint64_t>(NowUnixNs())) {}

std::int64_t OpampClient::Poll() {
  std::int64_t wait_ns = options_.upload_interval_ns;
  for (int i = 0; i < kMostRequests; ++i) {
    const Next next = Exchange(wait_ns);
    if (next == Next::kUnknownHere) return std::max(wait_ns, kUnknownAgainNs);
    if (next == Next::kDone) break;
  }
  return wait_ns;
}

AgentToServer OpampClient::Message() {
  AgentToServer message = {
      .instance_uid = uid_, .sequence = ++sequence_, .capabilities = kCapabilities};
  if (full_) {
    message.description = host_.describe();
    message.healthy_since_ns = started_ns_;
  }
  if (std::string effective = host_.effective(); full_ || effective != sent_effective_) {
    sent_effective_ = effective;
    message.effective_config = std::move(effective);
  }
  if (status_due_ || (full_ && offered_)) message.config_status = status_;
  return message;
}

Result<HttpAnswer> OpampClient::Send(const AgentToServer& message) {
  TextPairs headers = {{"content-type", "application/x-protobuf"},
                       {"user-agent", "wherefore-sdk-cpp"},
                       {"opamp-instance-uid", uid_text_}};
  for (const auto& [key, value] : options_.profiles_headers) SetPair(headers, key, value);
  return client_.Post(headers, EncodeAgentToServer(message));
}

OpampClient::Next OpampClient::Exchange(std::int64_t& wait_ns) {
  const Result<HttpAnswer> answer = Send(Message());
  if (!answer) return Fail(answer.error().message());
  const int status = answer->status;
  if (status == 404 || status == 405 || status == 501) {
    Fail(fmt::format("the server answered {}: asked again in an hour", status));
    return Next::kUnknownHere;
  }
  if (status / 100 != 2) {
    if (const auto seconds = ParseUint(answer->Header("retry-after")))
      wait_ns = std::max(wait_ns, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                      *seconds, kLongestToldNs / kNsPerSecond)) *
                                      kNsPerSecond);
    return Fail(fmt::format("the server answered {}", status));
  }
  const Result<ServerToAgent> decoded = DecodeServerToAgent(answer->body);
  if (!decoded) return Fail(decoded.error().message());
  if (!decoded->instance_uid.empty() && decoded->instance_uid != BytesOf(uid_))
    return Fail("the answer is for another instance");
  answered_ = true;
  return Take(*decoded, wait_ns);
}

OpampClient::Next OpampClient::Take(const ServerToAgent& answer, std::int64_t& wait_ns) {
  if (answer.failed) {
    const auto told =
        static_cast<std::int64_t>(std::min<std::uint64_t>(answer.retry_after_ns, kLongestToldNs));
    if (answer.unavailable) wait_ns = std::max(wait_ns, told);
    return Fail("the server says: " + answer.error.substr(0, 200));
  }
  full_ = (answer.flags & kReportFullState) != 0;
  status_due_ = false;
  if (answer.config && (!offered_ || answer.config->hash != status_.hash)) Apply(*answer.config);
  return full_ || status_due_ ? Next::kReport : Next::kDone;
}

void OpampClient::Apply(const OpampConfig& config) {
  const Result<> applied = host_.apply(config);
  status_ = {.hash = config.hash,
             .status = applied ? OpampStatus::kApplied : OpampStatus::kFailed,
             .message = applied ? std::string() : applied.error().message()};
  offered_ = status_due_ = true;
}

// Whether it arrived is not known: the next message says everything again.
OpampClient::Next OpampClient::Fail(const std::string& why) {
  full_ = true;
  Log(LogLevel::kDebug, fmt::format("OpAMP at {}: {}", UrlWithoutUser(options_.opamp_url), why));
  return Next::kDone;
}

void OpampClient::Disconnect() {
  if (!answered_) return;
  static_cast<void>(Send({.instance_uid = uid_,
                          .sequence = ++sequence_,
                          .capabilities = kCapabilities,
                          .disconnect = true}));
}

}  // namespace wherefore::sdk
