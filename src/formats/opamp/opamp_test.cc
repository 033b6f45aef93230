// OpAMP messages there and back, bytes as other implementations write them, and broken ones.
#include "formats/opamp/opamp.h"

#include <gtest/gtest.h>

namespace wherefore::formats::opamp {
namespace {

AgentToServer FullMessage() {
  return {.instance_uid = "0123456789abcdef",
          .sequence_num = 7,
          .description = AgentDescription{.identifying = {{"service.name", "shop"},
                                                          {"service.instance.id", "shop-1"}},
                                          .others = {{"os.type", "linux"}}},
          .capabilities = kReportsStatus | kAcceptsRemoteConfig | kReportsRemoteConfig,
          .health = Health{.healthy = true, .start_ns = 5, .last_error = "none", .status = "ok"},
          .effective_config = ConfigFiles{{"profiling.yaml", {"profiling:\n", "text/yaml"}}},
          .remote_config_status = RemoteConfigStatus{.hash = std::string("\0h", 2),
                                                     .state = RemoteConfigStatus::State::kFailed,
                                                     .error = "no"},
          .disconnect = true,
          .flags = 1};
}

ServerToAgent FullAnswer() {
  return {.instance_uid = "0123456789abcdef",
          .error = ErrorResponse{.type = ErrorResponse::Type::kUnavailable,
                                 .message = "later",
                                 .retry_after_ns = 1'000'000'000},
          .remote_config =
              RemoteConfig{.files = {{"profiling.yaml", {"a: 1\n", "text/yaml"}}}, .hash = "hash"},
          .flags = kReportFullState,
          .capabilities = kAcceptsStatus | kOffersRemoteConfig};
}

TEST(Opamp, ThereAndBack) {
  const auto message = DecodeAgentToServer(Encode(FullMessage()));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(*message, FullMessage());
  const auto answer = DecodeServerToAgent(Encode(FullAnswer()));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, FullAnswer());
  EXPECT_EQ(*DecodeAgentToServer(Encode(AgentToServer{})), AgentToServer{});
}

TEST(Opamp, BytesOfTheWire) {
  // instance_uid "ab", sequence_num 300, capabilities 3, and a field of the future (99, a varint).
  const std::string bytes(
      "\x0a\x02"
      "ab\x10\xac\x02\x20\x03\x98\x06\x05",
      12);
  const auto message = DecodeAgentToServer(bytes);
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->instance_uid, "ab");
  EXPECT_EQ(message->sequence_num, 300u);
  EXPECT_EQ(message->capabilities, 3u);
  EXPECT_FALSE(message->description);
  // config_hash of a remote_config is field 2, beside the map of files in field 1.
  EXPECT_EQ(Encode(ServerToAgent{.remote_config = RemoteConfig{.files = {}, .hash = "h"}}),
            std::string("\x1a\x05\x0a\x00\x12\x01h", 7));
}

TEST(Opamp, BrokenBytesAreErrors) {
  const std::string bytes = Encode(FullMessage());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    (void)DecodeAgentToServer(bytes.substr(0, size));  // no crash
  }
  EXPECT_EQ(DecodeAgentToServer("\x0a\x7f").error().code(), Code::kCorrupt);
  AgentToServer many = FullMessage();
  for (int i = 0; i < 2000; ++i) many.description->others["k" + std::to_string(i)] = "v";
  EXPECT_EQ(DecodeAgentToServer(Encode(many)).error().code(), Code::kLimit);
}

}  // namespace
}  // namespace wherefore::formats::opamp
