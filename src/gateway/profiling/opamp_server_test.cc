// What agents are asked, offered and remembered for.
#include "gateway/profiling/opamp_server.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace wherefore::gateway {
namespace {

using formats::opamp::AgentToServer;
using formats::opamp::RemoteConfigStatus;
using formats::opamp::ServerToAgent;
namespace opamp = formats::opamp;

class OpampServerTest : public testing::Test {
 protected:
  static AgentToServer First(int number = 0) {
    std::string uid = "0123456789abcdef";
    uid[0] = static_cast<char>(number);
    uid[1] = static_cast<char>(number >> 8);
    return {.instance_uid = uid,
            .description =
                opamp::AgentDescription{
                    .identifying = {{"service.name", "shop"}, {"service.instance.id", "shop-1"}}},
            .capabilities =
                opamp::kReportsStatus | opamp::kAcceptsRemoteConfig | opamp::kReportsRemoteConfig};
  }
  ServerToAgent Send(const AgentToServer& message) { return server_.Answer("", message, now_); }

  std::int64_t now_ = 1'000 * kNsPerSecond;
  ProfilingControl control_{""};
  OpampServer server_{control_, false};
};

TEST_F(OpampServerTest, OffersAnotherHashOnly) {
  AgentToServer message = First();
  EXPECT_FALSE(Send(message).remote_config) << "nobody said anything";
  ASSERT_TRUE(control_.Set("", "shop", {.enabled = false}));
  message = {.instance_uid = message.instance_uid,
             .sequence_num = 1,
             .capabilities = message.capabilities};
  const ServerToAgent offer = Send(message);
  EXPECT_EQ(offer.flags, 0u);
  ASSERT_TRUE(offer.remote_config);
  EXPECT_EQ(offer.remote_config->files.at("profiling.yaml"),
            (opamp::ConfigFile{"profiling:\n  enabled: false\n", "text/yaml"}));
  EXPECT_EQ(server_.Agents("", now_)[0].state, "pending");
  ++message.sequence_num;  // the answer was lost
  EXPECT_EQ(Send(message).remote_config, offer.remote_config);
  ++message.sequence_num;
  message.remote_config_status = RemoteConfigStatus{
      .hash = offer.remote_config->hash, .state = RemoteConfigStatus::State::kApplied, .error = ""};
  EXPECT_FALSE(Send(message).remote_config);
  message.remote_config_status.reset();  // agents report changes only
  ++message.sequence_num;
  EXPECT_FALSE(Send(message).remote_config);
  EXPECT_EQ(server_.Agents("", now_)[0].state, "applied");
  ASSERT_TRUE(control_.Set("", "shop", {.enabled = true}));
  ++message.sequence_num;
  EXPECT_EQ(Send(message).remote_config->files.at("profiling.yaml").body,
            "profiling:\n  enabled: true\n");
}

TEST_F(OpampServerTest, OnlyToThoseThatTakeOne) {
  ASSERT_TRUE(control_.Set("", "", {.enabled = false}));
  AgentToServer message = First();
  message.capabilities = opamp::kReportsStatus;
  EXPECT_FALSE(Send(message).remote_config);
  EXPECT_EQ(server_.Agents("", now_)[0].state, "own settings");
  // Takes one, and does not say so: offered once.
  message = First(1);
  message.capabilities = opamp::kReportsStatus | opamp::kAcceptsRemoteConfig;
  EXPECT_TRUE(Send(message).remote_config);
  ++message.sequence_num;
  EXPECT_FALSE(Send(message).remote_config);
}

TEST_F(OpampServerTest, AsksForTheFullState) {
  AgentToServer short_message{
      .instance_uid = First().instance_uid, .sequence_num = 5, .capabilities = 3};
  EXPECT_EQ(Send(short_message).flags, opamp::kReportFullState) << "not known";
  AgentToServer full = First();
  full.sequence_num = 6;
  EXPECT_EQ(Send(full).flags, 0u);
  short_message.sequence_num = 8;
  EXPECT_EQ(Send(short_message).flags, opamp::kReportFullState) << "a gap";
  short_message.sequence_num = 9;
  EXPECT_EQ(Send(short_message).flags, 0u);
  now_ += 301 * kNsPerSecond;
  EXPECT_TRUE(server_.Agents("", now_).empty());
  short_message.sequence_num = 10;
  EXPECT_EQ(Send(short_message).flags, opamp::kReportFullState) << "forgotten";
}

TEST_F(OpampServerTest, BadRequestsAndGoodbyes) {
  EXPECT_EQ(Send({.instance_uid = "short"}).error->type, opamp::ErrorResponse::Type::kBadRequest);
  AgentToServer message = First();
  (void)Send(message);
  EXPECT_EQ(server_.Agents("", now_).size(), 1u);
  EXPECT_TRUE(server_.Agents("acme", now_).empty());
  message.disconnect = true;
  (void)Send(message);
  EXPECT_TRUE(server_.Agents("", now_).empty());
}

TEST_F(OpampServerTest, RemembersTenThousand) {
  for (int i = 0; i < 10'500; ++i) {
    now_ += 1'000'000;
    (void)Send(First(i));
  }
  EXPECT_EQ(server_.Agents("", now_).size(), 10'000u);
}

}  // namespace
}  // namespace wherefore::gateway
