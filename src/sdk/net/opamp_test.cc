// OpAMP: messages byte by byte, and the client against a server of sockets.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "formats/wire/protobuf.h"
#include "sdk/net/exporter.h"
#include "sdk/net/opamp_client.h"
#include "sdk/net/test_server.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

// A length-delimited field.
std::string Field(int number, const std::string& bytes) {
  EXPECT_LT(bytes.size(), 16'384U);
  std::string out(1, static_cast<char>(number << 3 | 2));
  if (bytes.size() >= 128) out += static_cast<char>((bytes.size() & 0x7f) | 0x80);
  out += static_cast<char>(bytes.size() >= 128 ? bytes.size() >> 7 : bytes.size());
  return out + bytes;
}

TEST(OpampMessages, AHeartbeatHasThreeFields) {
  AgentToServer message = {.sequence = 300, .capabilities = 0x3807};
  for (std::uint8_t i = 0; i < 16; ++i) message.instance_uid[i] = i;
  EXPECT_EQ(ToHex(EncodeAgentToServer(message)),
            "0a10000102030405060708090a0b0c0d0e0f"  // 1 instance_uid
            "10ac02"                                // 2 sequence_num
            "208770");                              // 4 capabilities
}

TEST(OpampMessages, EveryFieldHasItsNumber) {
  const AgentToServer message = {
      .sequence = 1,
      .capabilities = 1,
      .description = {{.identifying = {{.key = "service.name", .text = "svc"}},
                       .other = {{.key = "pid", .text = {}, .number = 7, .is_number = true}}}},
      .healthy_since_ns = 0x0102,
      .effective_config = "profiling: {}\n",
      .config_status = {{.hash = "h", .status = OpampStatus::kFailed, .message = "bad"}},
      .disconnect = true};
  const std::string expected =
      Field(1, std::string(16, '\0')) + "\x10\x01" +
      Field(3, Field(1, Field(1, "service.name") + Field(2, Field(1, "svc"))) +
                   Field(2, Field(1, "pid") + Field(2, "\x18\x07"))) +
      "\x20\x01" + Field(5, std::string("\x08\x01\x11\x02\x01\0\0\0\0\0\0", 11)) +
      Field(6,
            Field(1, Field(1, Field(1, "profiling.yaml") +
                                  Field(2, Field(1, "profiling: {}\n") + Field(2, "text/yaml"))))) +
      Field(7, Field(1, "h") + "\x10\x03" + Field(3, "bad")) + Field(9, "");
  EXPECT_EQ(ToHex(EncodeAgentToServer(message)), ToHex(expected));
}

TEST(OpampMessages, ReadsWhatAServerSays) {
  const std::string bytes =
      Field(1, "0123456789abcdef") +
      Field(3, Field(1, Field(1, Field(1, "profiling.yaml") + Field(2, Field(1, "a: 1")))) +
                   Field(2, "hash")) +
      Field(4, "connection settings") + "\x30\x01\x38\x07";
  const auto read = DecodeServerToAgent(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->instance_uid, "0123456789abcdef");
  EXPECT_EQ(read->flags, kReportFullState);
  ASSERT_TRUE(read->config);
  EXPECT_EQ(read->config->hash, "hash");
  ASSERT_EQ(read->config->files.size(), 1U);
  EXPECT_EQ(read->config->files[0],
            (std::pair<std::string, std::string>("profiling.yaml", "a: 1")));
  EXPECT_FALSE(read->failed);
  const auto refused =
      DecodeServerToAgent(Field(2, "\x08\x02" + Field(2, "later") + Field(3, "\x08\x64")));
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->failed && refused->unavailable);
  EXPECT_EQ(refused->error, "later");
  EXPECT_EQ(refused->retry_after_ns, 100U);
}

TEST(OpampMessages, BytesThatAreNoMessageAreRefused) {
  const std::string good =
      Field(3, Field(1, Field(1, Field(1, "n") + Field(2, Field(1, "b")))) + Field(2, "h"));
  for (std::size_t i = 1; i < good.size(); ++i) {
    EXPECT_FALSE(DecodeServerToAgent(good.substr(0, i))) << i;
    for (int bit = 0; bit < 8; ++bit) {  // whatever it says, it ends
      std::string other = good;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      static_cast<void>(DecodeServerToAgent(other));
    }
  }
}

// What the client's host was asked to do.
std::vector<OpampConfig>& Applied() {
  static std::vector<OpampConfig> configs;
  return configs;
}

class OpampClientTest : public testing::Test {
 protected:
  void SetUp() override {
    Applied().clear();
    SetLogLevel(LogLevel::kOff);
  }
  void TearDown() override { SetLogLevel(LogLevel::kInfo); }

  static OpampHost Host() {
    return {.describe =
                [] {
                  return OpampDescription{.identifying = {{.key = "service.name", .text = "svc"}},
                                          .other = {}};
                },
            .effective = [] { return "number " + std::to_string(Applied().size()); },
            .apply =
                [](const OpampConfig& config) {
                  if (config.files.at(0).second == "bad")
                    return Result<>(Error(Code::kInvalid, "not so"));
                  Applied().push_back(config);
                  return Result<>();
                }};
  }
  static std::string Offer(const std::string& body, const std::string& hash) {
    return TestServer::Answer(
        200, "",
        Field(3, Field(1, Field(1, Field(1, "profiling.yaml") + Field(2, Field(1, body)))) +
                     Field(2, hash)));
  }
  void Connect(TestServer& server) {
    options_.opamp_url = server.url() + "/v1/opamp";
    options_.profiles_headers = {{"authorization", "Bearer x"}};
    client_ = std::make_unique<OpampClient>(options_, *ParseUrl(options_.opamp_url), Host());
  }
  std::int64_t Poll() {
    client_->SetDeadline(MonotonicNs() + 10 * kNsPerSecond);
    return client_->Poll();
  }
  // Which fields a request has, by their numbers.
  static std::string Fields(const TestServer::Request& request) {
    std::string out;
    formats::Pbf reader = formats::Reader(request.body);
    for (; reader.next(); reader.skip()) out += std::to_string(reader.tag()) + " ";
    return out;
  }

  Options options_;
  std::unique_ptr<OpampClient> client_;
};

TEST_F(OpampClientTest, SaysEverythingOnceAndThenOnlyThatItIsThere) {
  TestServer server;
  Connect(server);
  EXPECT_EQ(Poll(), options_.upload_interval_ns);
  EXPECT_EQ(Poll(), options_.upload_interval_ns);
  client_->Disconnect();
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(Fields(requests[0]), "1 2 3 4 5 6 ");
  EXPECT_EQ(Fields(requests[1]), "1 2 4 ");
  EXPECT_EQ(Fields(requests[2]), "1 2 4 9 ");
  EXPECT_TRUE(requests[0].head.starts_with("POST /v1/opamp HTTP/1.1\r\n"));
  EXPECT_NE(requests[0].head.find("authorization: Bearer x"), std::string::npos);
  const std::string uid = ToHex(requests[0].body.substr(2, 16));
  EXPECT_EQ(uid[12], '7') << "a UUID of version 7";
  EXPECT_NE(requests[0].head.find("opamp-instance-uid: " + uid.substr(0, 8) + "-"),
            std::string::npos);
  EXPECT_EQ(requests[0].body.substr(18, 2), "\x10\x01");
  EXPECT_EQ(requests[1].body.substr(18, 2), "\x10\x02");
}

TEST_F(OpampClientTest, AppliesAConfigurationOnceAndReportsIt) {
  TestServer server({Offer("one", "h1"), Offer("one", "h1"), Offer("one", "h1"), Offer("bad", "h2"),
                     TestServer::Answer(200)});
  Connect(server);
  static_cast<void>(Poll());
  static_cast<void>(Poll());
  EXPECT_EQ(Applied().size(), 1U);
  static_cast<void>(Poll());
  EXPECT_EQ(Applied().size(), 1U);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5U);
  EXPECT_EQ(Fields(requests[1]), "1 2 4 6 7 ");
  EXPECT_TRUE(requests[1].body.ends_with(Field(7, Field(1, "h1") + "\x10\x01")));
  EXPECT_EQ(Fields(requests[2]), "1 2 4 ");
  EXPECT_TRUE(
      requests[4].body.ends_with(Field(7, Field(1, "h2") + "\x10\x03" + Field(3, "not so"))))
      << "nothing has changed but the status";
}

TEST_F(OpampClientTest, SaysEverythingAgainWhenAskedOrAfterTrouble) {
  const std::string ask = TestServer::Answer(200, "", "\x30\x01");
  TestServer server({ask, TestServer::Answer(200), TestServer::Answer(500), TestServer::Answer(200),
                     ask, ask, ask, ask});
  Connect(server);
  static_cast<void>(Poll());
  static_cast<void>(Poll());
  static_cast<void>(Poll());
  static_cast<void>(Poll());  // asked again and again: it ends all the same
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 7U);
  const std::string all = "1 2 3 4 5 6 ";
  EXPECT_EQ(Fields(requests[1]), all);
  EXPECT_EQ(Fields(requests[3]), all) << "after an error";
  EXPECT_EQ(Fields(requests[4]), "1 2 4 ");
  EXPECT_EQ(Fields(requests[6]), all);
}

TEST_F(OpampClientTest, WaitsAsLongAsItIsTold) {
  const std::string later =
      Field(2, "\x08\x02" + Field(3, std::string("\x08\x80\xd0\xac\xf3\x0e")));
  TestServer server({TestServer::Answer(404), TestServer::Answer(503, "retry-after: 99\r\n"),
                     TestServer::Answer(503, "retry-after: 99999999999\r\n"),
                     TestServer::Answer(200, "", later), TestServer::Answer(200, "", "\xff"),
                     TestServer::Answer(200, "", Field(1, "somebody else's"))});
  options_.upload_interval_ns = kNsPerSecond;
  Connect(server);
  EXPECT_EQ(Poll(), 3600 * kNsPerSecond);
  EXPECT_EQ(Poll(), 99 * kNsPerSecond);
  EXPECT_EQ(Poll(), 3600 * kNsPerSecond);
  EXPECT_EQ(Poll(), 4 * kNsPerSecond);
  EXPECT_EQ(Poll(), kNsPerSecond);
  EXPECT_EQ(Poll(), kNsPerSecond);
}

TEST_F(OpampClientTest, TheExporterAsksFromItsFirstRequestOnUntilItStops) {
  TestServer server({TestServer::Answer(200), Offer("one", "h1")});
  options_.profiles_url = server.url() + "/v1development/profiles";
  options_.opamp_url = server.url() + "/v1/opamp";
  options_.upload_interval_ns = kNsPerSecond / 10;
  Exporter exporter(options_, nullptr, Host());
  ASSERT_TRUE(exporter.Start());
  EXPECT_TRUE(server.requests().empty()) << "nothing was sent yet";
  exporter.Enqueue(Signal::kProfiles, "first");
  ASSERT_TRUE(server.WaitFor(5));
  exporter.Stop(MonotonicNs() + 10 * kNsPerSecond);
  const auto requests = server.requests();
  EXPECT_TRUE(requests[0].head.starts_with("POST /v1development/profiles "));
  for (std::size_t i = 1; i < requests.size(); ++i)
    EXPECT_TRUE(requests[i].head.starts_with("POST /v1/opamp ")) << i;
  EXPECT_EQ(Fields(requests.back()), "1 2 4 9 ");
  EXPECT_GE(requests[4].time_ns - requests[2].time_ns, kNsPerSecond / 10);
  EXPECT_EQ(Applied().size(), 1U);
}

}  // namespace
}  // namespace wherefore::sdk
