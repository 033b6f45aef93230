// /ingest and Push through routers, with a sink that records requests.
#include "gateway/pyroscope_receiver.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/gzip.h"
#include "base/test_source.h"
#include "formats/stacks/stack_batch.h"
#include "gateway/test_sink.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

constexpr const char* kTimes = "&from=1700000000&until=1700000010";

std::string Golden(const std::string& name) {
  std::ifstream in(TestSource("tests/golden/" + name), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

// A pprof file with these types, each of its two samples (main;a and main;b) with the values.
std::string Pprof(const std::vector<std::pair<std::string, std::string>>& types,
                  const std::string& period_type, std::int64_t a, std::int64_t b) {
  auto text = std::make_shared<const std::string>("main;a main;b");
  formats::StackBatch batch(text);
  for (const auto& [type, unit] : types) {
    batch.AddFolded(std::string_view(*text).substr(0, 6), a);
    batch.AddFolded(std::string_view(*text).substr(7), b);
    EXPECT_TRUE(batch.EndProfile({.type = type,
                                  .unit = unit,
                                  .period_type = period_type,
                                  .period_unit = "count",
                                  .period = 1,
                                  .time_ns = 1'700'000'000'000'000'000}));
  }
  return *formats::EncodePprof(batch.Take({}).data);
}

// "type id = sum" of every profile.
std::string Sums(const profile::WriteRequest& request) {
  const auto& batch = std::get<profile::Batch>(request.data);
  EXPECT_TRUE(batch.Validate());
  std::string out;
  for (const profile::Profile& p : batch.profiles) {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < p.sample_count; ++i) {
      sum += batch.samples.value[p.first_sample + i];
    }
    out += fmt::format("{}={}\n", profile::TypeOf(batch, p).Id(), sum);
  }
  return out;
}

std::map<std::string, std::string> LabelsOf(const profile::WriteRequest& request) {
  const auto& batch = std::get<profile::Batch>(request.data);
  std::map<std::string, std::string> out;
  for (const auto& a :
       batch.OwnAttributes(batch.resources[batch.profiles.at(0).resource].attributes)) {
    out[std::string(batch.Text(a.key))] = ValueText(batch, a.value);
  }
  return out;
}

class PyroscopeReceiverTest : public testing::Test {
 protected:
  void Start(PyroscopeReceiver::Options options = {}) {
    receiver_.emplace(Intake(sink_, std::make_shared<ReceiverMetrics>()), options);
    receiver_->AddRoutes(http_, grpc_);
  }
  net::HttpResponse Ingest(const std::string& query, std::string body,
                           const std::string& type = "application/octet-stream",
                           const net::Headers& headers = {}) {
    return Post("/ingest", query, std::move(body), type, headers);
  }
  net::HttpResponse Post(const std::string& path, const std::string& query, std::string body,
                         const std::string& type, const net::Headers& headers = {}) {
    if (!receiver_) Start();
    net::HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.query = query;
    request.headers = headers;
    request.headers["Content-Type"] = type;
    request.body = std::make_shared<const std::string>(std::move(body));
    net::HttpResponse answer;
    http_.Handle(std::move(request), [&](net::HttpResponse r) { answer = std::move(r); });
    return answer;
  }
  static std::string Form(const std::vector<std::pair<std::string, std::string>>& files) {
    std::string body;
    for (const auto& [name, bytes] : files) {
      body += fmt::format(
          "--B\r\nContent-Disposition: form-data; name=\"{0}\"; filename=\"{0}\"\r\n\r\n{1}\r\n",
          name, bytes);
    }
    return body + "--B--\r\n";
  }
  static constexpr const char* kForm = "multipart/form-data; boundary=B";

  FakeSink sink_;
  net::Router http_;
  net::GrpcRouter grpc_;
  std::optional<PyroscopeReceiver> receiver_;
};

TEST_F(PyroscopeReceiverTest, AFormWithAProfileIsStoredUnderItsNameAndLabels) {
  const auto response = Ingest(
      std::string("name=shop%7Benv%3Dprod%2C__session_id__%3Dff%2Cotel.scope.name%3Da+b%7D&spyName="
                  "gospy&sampleRate=100") +
          kTimes,
      Form({{"profile", Golden("go_cpu.pb.gz")}}), kForm);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.body, "");
  const auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(LabelsOf(requests[0]),
            (std::map<std::string, std::string>{{"service.name", "shop"},
                                                {"env", "prod"},
                                                {"otel.scope.name", "a b"},
                                                {"pyroscope_spy", "gospy"}}));
  EXPECT_NE(Sums(requests[0]).find("process_cpu:cpu:nanoseconds:cpu:nanoseconds="),
            std::string::npos);
}

TEST_F(PyroscopeReceiverTest, TheConfigTellsBlockFromMutex) {
  const std::string file =
      Pprof({{"contentions", "count"}, {"delay", "nanoseconds"}}, "contentions", 3, 4);
  const std::string config =
      R"({"contentions":{"display-name":"block_count"},"delay":{"display-name":"block_duration"}})";
  EXPECT_EQ(Ingest("name=shop&spyName=gospy",
                   Form({{"profile", file}, {"sample_type_config", config}}), kForm)
                .status,
            200);
  EXPECT_EQ(Sums(sink_.Take().at(0)),
            "block:contentions:count:contentions:count=7\nblock:delay:nanoseconds:contentions:"
            "count=7\n");
  EXPECT_EQ(Ingest("name=shop&spyName=gospy&format=pprof", file).status, 200);
  EXPECT_EQ(Sums(sink_.Take().at(0)).substr(0, 6), "mutex:");
}

TEST_F(PyroscopeReceiverTest, PlainCumulativeProfilesBecomeDifferences) {
  const std::vector<std::pair<std::string, std::string>> types = {{"contentions", "count"},
                                                                  {"delay", "nanoseconds"}};
  Ingest("name=shop&format=pprof&spyName=curl", Pprof(types, "contentions", 10, 20));
  Ingest("name=shop&format=pprof&spyName=curl", Pprof(types, "contentions", 11, 25));
  const auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(Sums(requests[0]).find("contentions:count=30"), std::string::npos);
  EXPECT_EQ(Sums(requests[1]),
            "mutex:contentions:count:contentions:count=6\n"
            "mutex:delay:nanoseconds:contentions:count=6\n");
}

TEST_F(PyroscopeReceiverTest, APreviousProfileIsSubtracted) {
  const std::vector<std::pair<std::string, std::string>> types = {{"contentions", "count"}};
  const auto response = Ingest(std::string("name=shop&spyName=gospy") + kTimes,
                               Form({{"profile", Pprof(types, "contentions", 11, 25)},
                                     {"prev_profile", Pprof(types, "contentions", 10, 20)}}),
                               kForm);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Sums(sink_.Take().at(0)), "mutex:contentions:count:contentions:count=6\n");
}

TEST_F(PyroscopeReceiverTest, EveryStackFormatArrives) {
  const std::string tree("\x00\x00\x01\x04main\x05\x00", 10);
  const std::string trie("\x04main\x05\x00", 7);
  const struct {
    std::string query;
    std::string body;
    std::string type = "";
    std::string sums;
  } cases[] = {
      {"name=s&format=folded", "main;a 2\nmain;b 3\n", "", "process_cpu:cpu:nanoseconds:cpu:"},
      {"name=s.wall&format=groups&sampleRate=10", "main 5", "", "wall:wall:nanoseconds:cpu:"},
      {"name=s&format=lines&sampleRate=0", "main\nmain", "", "process_cpu:samples:count::=2\n"},
      {"name=s.alloc_space&format=trie", trie, "", "memory:alloc_space:bytes::=5\n"},
      {"name=s.alloc_space", tree, "binary/octet-stream+tree", "memory:alloc_space:bytes::=5\n"},
      {"name=s&format=speedscope",
       R"({"shared":{"frames":[{"name":"m"}]},"profiles":[{"type":"sampled","unit":"none",)"
       R"("samples":[[0]],"weights":[3]}]})",
       "", "process_cpu:cpu:nanoseconds:cpu:nanoseconds=30000000\n"},
      {"name=s", Golden("go_cpu.pb.gz"), "", "process_cpu:samples:count:cpu:nanoseconds="},
  };
  for (const auto& c : cases) {
    const auto response = Ingest(c.query, c.body, c.type);
    EXPECT_EQ(response.status, 200) << c.query << ": " << response.body;
    const auto requests = sink_.Take();
    ASSERT_EQ(requests.size(), 1u) << c.query;
    EXPECT_EQ(Sums(requests[0]).substr(0, c.sums.size()), c.sums) << c.query;
  }
}

TEST_F(PyroscopeReceiverTest, UnannouncedGzipIsRead) {
  const auto packed = Gzip("main;a 2\n");
  EXPECT_EQ(Ingest("name=s&format=folded", packed).status, 200);
  EXPECT_NE(Sums(sink_.Take().at(0)).find("=20000000"), std::string::npos);
}

TEST_F(PyroscopeReceiverTest, WhatIsWrongIsA400WithAReason) {
  const auto check = [&](const std::string& query, const std::string& body, const std::string& type,
                         const std::string& reason) {
    const auto response = Ingest(query, body, type);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_NE(response.body.find(reason), std::string::npos) << query << ": " << response.body;
    EXPECT_NE(response.body.find("\"code\":\"invalid_argument\""), std::string::npos);
  };
  check("", "x", "", "application name");
  check("name=s&from=12x", "x", "", "from:");
  check("name=s&format=pprof", "hello", "", "string_table");
  check("name=s", "main;a", "", "no stacks");
  check("name=s.odd", "main 1", "", "unknown profile type");
  check("name=s&format=trie", "\x09x", "", "node at byte 0");
  check("name=s", "--X--", "multipart/form-data; boundary=B", "boundary");
  check("name=s", Form({{"other", "1"}}), kForm, "no file named");
  EXPECT_TRUE(sink_.Take().empty());
}

TEST_F(PyroscopeReceiverTest, LabelsOfASpanBecomeALink) {
  EXPECT_EQ(Ingest("name=s%7Bprofile_id%3D0102030405060708%7D&format=folded", "main 1").status,
            200);
  const auto requests = sink_.Take();
  const auto& batch = std::get<profile::Batch>(requests.at(0).data);
  EXPECT_EQ(batch.links.at(batch.samples.link[0]).span[0], 1);
  EXPECT_FALSE(LabelsOf(requests[0]).contains("profile_id"));
}

std::string Lengthy(char tag, const std::string& bytes) {
  std::string out(1, tag);
  for (std::size_t n = bytes.size();; n >>= 7) {
    if (n < 128) {
      out += static_cast<char>(n);
      break;
    }
    out += static_cast<char>((n & 127) | 128);
  }
  return out + bytes;
}
std::string PushSeriesOf(const std::map<std::string, std::string>& labels,
                         const std::vector<std::string>& profiles) {
  std::string series;
  for (const auto& [k, v] : labels) {
    series += Lengthy('\x0a', Lengthy('\x0a', k) + Lengthy('\x12', v));
  }
  for (const std::string& p : profiles) series += Lengthy('\x12', Lengthy('\x0a', p));
  return Lengthy('\x0a', series);
}

TEST_F(PyroscopeReceiverTest, APushStoresEveryProfileUnderItsName) {
  const std::string file = Pprof({{"cpu", "nanoseconds"}}, "cpu", 1, 2);
  const auto response = Post(
      "/push.v1.PusherService/Push", "",
      PushSeriesOf({{"__name__", "process_cpu"}, {"service_name", "py"}, {"env", "x"}}, {file}) +
          PushSeriesOf({{"__name__", "memory"}, {"service_name", "py"}},
                       {Pprof({{"inuse_space", "bytes"}}, "space", 5, 6)}),
      "application/proto");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.content_type, "application/proto");
  const auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(requests[0].identity, requests[1].identity);
  EXPECT_EQ(Sums(requests[0]), "process_cpu:cpu:nanoseconds:cpu:count=3\n");
  EXPECT_EQ(Sums(requests[1]), "memory:inuse_space:bytes:space:count=11\n");
  EXPECT_EQ(LabelsOf(requests[0]),
            (std::map<std::string, std::string>{{"service.name", "py"}, {"env", "x"}}));
}

TEST_F(PyroscopeReceiverTest, AGoodProfileBesideABadOneIsKeptAndTheBadOneNamed) {
  const auto response =
      Post("/push.v1.PusherService/Push", "",
           PushSeriesOf({{"service_name", "s"}},
                        {"garbage", Pprof({{"cpu", "nanoseconds"}}, "cpu", 1, 2)}),
           "application/proto");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("series[0].samples[0]"), std::string::npos) << response.body;
  EXPECT_EQ(sink_.Take().size(), 1u);
}

TEST_F(PyroscopeReceiverTest, MarkedDifferencesAreNotTakenAgain) {
  const std::vector<std::pair<std::string, std::string>> types = {{"contentions", "count"}};
  const auto push = [&](const std::map<std::string, std::string>& labels, std::int64_t value) {
    Post("/push.v1.PusherService/Push", "",
         PushSeriesOf(labels, {Pprof(types, "contentions", value, 0)}), "application/proto");
    return Sums(sink_.Take().at(0));
  };
  const std::map<std::string, std::string> marked = {
      {"service_name", "s"}, {"__name__", "mutex"}, {"__delta__", "false"}};
  const std::map<std::string, std::string> renamed = {{"service_name", "s"},
                                                      {"__name__", "godeltaprof_mutex"}};
  const std::map<std::string, std::string> plain = {{"service_name", "s"}, {"__name__", "mutex"}};
  for (const auto& labels : {marked, renamed}) {
    EXPECT_EQ(push(labels, 5), "mutex:contentions:count:contentions:count=5\n");
    EXPECT_EQ(push(labels, 5), "mutex:contentions:count:contentions:count=5\n");
  }
  EXPECT_EQ(push(plain, 5), "mutex:contentions:count:contentions:count=5\n");
  EXPECT_EQ(push(plain, 5), "mutex:contentions:count:contentions:count=0\n");
}

TEST_F(PyroscopeReceiverTest, TheSinksTroublesReachTheSender) {
  sink_.AnswerNext(Error(Code::kUnavailable, "the disk is full"));
  auto response = Ingest("name=s&format=folded", "main 1");
  EXPECT_EQ(response.status, 503);
  sink_.AnswerNext(Error(Code::kLimit, "queue"));
  EXPECT_EQ(Ingest("name=s&format=folded", "main 1").status, 429);
  sink_.AnswerNext(profile::WriteAnswer{.rejected = 1, .message = "its time is in the future"});
  response = Ingest("name=s&format=folded", "main 1");
  EXPECT_EQ(response.status, 422);
  EXPECT_NE(response.body.find("future"), std::string::npos);
}

TEST_F(PyroscopeReceiverTest, TenantsAreKeptApartOnlyWhenAsked) {
  Start({.tenants = true});
  EXPECT_EQ(Ingest("name=s&format=folded", "main 1").status, 401);
  EXPECT_EQ(Ingest("name=s&format=folded", "main 1", "", {{"X-Scope-OrgID", "team"}}).status, 200);
  EXPECT_EQ(sink_.Take().at(0).tenant, profile::TenantNumber("team"));
}

TEST_F(PyroscopeReceiverTest, TheSameRequestHasTheSameIdentity) {
  Ingest("name=s&format=folded&from=1", "main 1");
  Ingest("name=s&format=folded&from=1", "main 1");
  Ingest("name=s&format=folded&from=2", "main 1");
  const auto requests = sink_.Take();
  EXPECT_EQ(requests.at(0).identity, requests.at(1).identity);
  EXPECT_NE(requests.at(0).identity, requests.at(2).identity);
}

}  // namespace
}  // namespace wherefore::gateway
