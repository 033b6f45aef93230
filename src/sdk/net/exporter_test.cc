#include "sdk/net/exporter.h"

#include <sys/wait.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_resolver.h"
#include "formats/formats.h"
#include "formats/wire/gzip.h"
#include "sdk/net/http_client.h"
#include "sdk/net/test_server.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

std::int64_t In(double seconds) {
  return MonotonicNs() + static_cast<std::int64_t>(seconds * 1e9);
}

Options To(const std::string& base) {
  Options options;
  options.profiles_url = base + "/v1development/profiles";
  options.traces_url = base + "/v1/traces";
  return options;
}

class ExporterTest : public testing::Test {
 protected:
  void SetUp() override { SetLogLevel(LogLevel::kOff); }
  void TearDown() override { SetLogLevel(LogLevel::kInfo); }
};

TEST_F(ExporterTest, SendsGzipWithHeadersOverOneKeptConnection) {
  TestServer server;
  Options options = To(server.url());
  options.profiles_headers = {{"authorization", "Bearer x"}, {"evil", "a\r\ninjected: 1"}};
  Exporter exporter(options);
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "first");
  exporter.Enqueue(Signal::kProfiles, "second");
  EXPECT_TRUE(exporter.Flush(In(10)));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_TRUE(requests[0].head.starts_with("POST /v1development/profiles HTTP/1.1\r\n"));
  EXPECT_NE(requests[0].head.find("content-encoding: gzip"), std::string::npos);
  EXPECT_NE(requests[0].head.find("content-type: application/x-protobuf"), std::string::npos);
  EXPECT_NE(requests[0].head.find("authorization: Bearer x"), std::string::npos);
  EXPECT_EQ(requests[0].head.find("injected"), std::string::npos);
  EXPECT_EQ(formats::Gunzip(requests[0].body, 1000).value(), "first");
  EXPECT_EQ(formats::Gunzip(requests[1].body, 1000).value(), "second");
  EXPECT_EQ(requests[1].connection, 1);
  EXPECT_GT(exporter.CpuTime(), 0);
}

TEST_F(ExporterTest, WaitsAsLongAsTheServerSays) {
  TestServer server({TestServer::Answer(503, "retry-after: 2\r\n")});
  Exporter exporter(To(server.url()));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kTraces, "x");
  EXPECT_TRUE(exporter.Flush(In(10)));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_GE(requests[1].time_ns - requests[0].time_ns, 1'990'000'000);
  EXPECT_EQ(requests[0].body, requests[1].body);
  EXPECT_EQ(exporter.Statistics().retries, 1U);
}

TEST_F(ExporterTest, OnlyFourStatusesAreWorthAnotherTry) {
  TestServer server({TestServer::Answer(429), TestServer::Answer(502), TestServer::Answer(504),
                     TestServer::Answer(200), TestServer::Answer(400), TestServer::Answer(500)});
  Options options = To(server.url());
  Exporter exporter(options);
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "x");
  while (exporter.Statistics().sent == 0 && server.requests().size() < 4) exporter.Flush(In(0.05));
  EXPECT_TRUE(exporter.Flush(In(10)));
  exporter.Enqueue(Signal::kProfiles, "y");
  EXPECT_FALSE(exporter.Flush(In(10)));
  exporter.Enqueue(Signal::kProfiles, "z");
  EXPECT_FALSE(exporter.Flush(In(10)));
  const ExporterStatistics statistics = exporter.Statistics();
  EXPECT_EQ(statistics.sent, 1U);
  EXPECT_EQ(statistics.retries, 3U);
  EXPECT_EQ(statistics.rejected, 2U);
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST_F(ExporterTest, ALossBeforeFlushIsCalledIsTold) {
  TestServer server({TestServer::Answer(400)});
  Exporter exporter(To(server.url()));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "x");
  while (exporter.Statistics().rejected == 0) std::this_thread::yield();
  EXPECT_FALSE(exporter.Flush(In(10)));
  EXPECT_TRUE(exporter.Flush(In(10)));
}

TEST_F(ExporterTest, ABrokenOrSilentConnectionIsTriedAgain) {
  TestServer server({TestServer::kClose, TestServer::kHang, "HTTP/1.1 200 OK\r\ncontent-le"});
  Options options = To(server.url());
  options.timeout_ns = 300'000'000;
  Exporter exporter(options);
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "x");
  while (exporter.Statistics().sent == 0 && server.requests().size() < 5) exporter.Flush(In(0.05));
  EXPECT_EQ(exporter.Statistics().sent, 1U);
  EXPECT_EQ(server.requests().size(), 4U);
}

TEST_F(ExporterTest, GarbageIsFinal) {
  TestServer server({"SSH-2.0-OpenSSH\r\n\r\n"});
  Exporter exporter(To(server.url()));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "x");
  EXPECT_FALSE(exporter.Flush(In(10)));
  EXPECT_EQ(exporter.Statistics().rejected, 1U);
}

TEST_F(ExporterTest, SaysWhatBecomesOfWhatIsRefusedAndWhatToDo) {
  const auto said = [](std::deque<std::string> answers, const TextPairs& headers) {
    TestServer server(std::move(answers));
    Options options = To(server.url());
    options.profiles_headers = headers;
    Exporter exporter(options);
    SetLogLevel(LogLevel::kInfo);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(exporter.Start());
    exporter.Enqueue(Signal::kProfiles, "x");
    exporter.Flush(In(10));
    exporter.Stop(In(10));
    SetLogLevel(LogLevel::kOff);
    return testing::internal::GetCapturedStderr();
  };
  const auto has = [](const std::string& text, std::string_view what) {
    return text.find(what) != std::string::npos;
  };
  for (const int status : {400, 500}) {
    const std::string text = said({TestServer::Answer(status)}, {});
    EXPECT_TRUE(has(text, fmt::format("answered {}; these profiles are dropped\n", status)))
        << text;
  }
  const std::string none = said({TestServer::Answer(401)}, {});
  EXPECT_TRUE(has(none,
                  "answered 401: it wants one of WHEREFORE_TOKEN or "
                  "OTEL_EXPORTER_OTLP_HEADERS; these profiles are dropped\n"))
      << none;
  const std::string wrong = said({TestServer::Answer(403)}, {{"Authorization", "Bearer x"}});
  EXPECT_TRUE(has(wrong, "answered 403: it does not accept the authorization of WHEREFORE_TOKEN"))
      << wrong;
  const std::string later = said({TestServer::Answer(503), TestServer::Answer(200)}, {});
  EXPECT_TRUE(has(later, "answered 503\n")) << later;
  const std::string grpc = said({std::string("\0\0\x12\4\0\0\0\0\0", 9)}, {});
  EXPECT_TRUE(has(grpc,
                  "not HTTP (it is asked over HTTP/1; port 4317 is usually gRPC, 4318 HTTP); "
                  "these profiles are dropped\n"))
      << grpc;
}

TEST_F(ExporterTest, AServerThatComesLateGetsEverything) {
  int port = 0;
  {
    port = TestServer().port();
  }  // nobody listens there now
  Exporter exporter(To(fmt::format("http://127.0.0.1:{}", port)));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "a");
  exporter.Enqueue(Signal::kTraces, "b");
  EXPECT_FALSE(exporter.Flush(In(0.2)));
  TestServer server({}, port);
  EXPECT_TRUE(exporter.Flush(In(10)));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ExporterTest, ADeadTraceServerDoesNotHoldUpProfiles) {
  TestServer server;
  Options options = To(server.url());
  options.traces_url = "http://127.0.0.1:1/v1/traces";
  Exporter exporter(options);
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kTraces, "lost");
  exporter.Enqueue(Signal::kProfiles, "x");
  EXPECT_TRUE(server.WaitFor(1));
}

TEST_F(ExporterTest, MemoryIsBoundedAndTheOldestGoesFirst) {
  Options options = To("http://127.0.0.1:1");
  options.gzip = false;
  Exporter exporter(options);  // not started: everything waits
  for (int i = 0; i < 20; ++i) exporter.Enqueue(Signal::kProfiles, std::string(1 << 20, 'x'));
  EXPECT_EQ(exporter.Statistics().dropped, 4U);
  exporter.Enqueue(Signal::kProfiles, std::string(kMaxQueuedBytes + 1, 'x'));
  EXPECT_EQ(exporter.Statistics().dropped, 5U);
}

TEST_F(ExporterTest, StopSendsWhatWaitsButNotBeyondItsDeadline) {
  TestServer server;
  Exporter good(To(server.url()));
  ASSERT_TRUE(good.Start());
  good.Enqueue(Signal::kProfiles, "x");
  good.Stop(In(10));
  EXPECT_EQ(server.requests().size(), 1U);

  TestServer silent({TestServer::kHang});
  Exporter stuck(To(silent.url()));
  ASSERT_TRUE(stuck.Start());
  stuck.Enqueue(Signal::kProfiles, "x");
  ASSERT_TRUE(silent.WaitFor(1));
  const std::int64_t begin = MonotonicNs();
  stuck.Stop(In(0.2));
  EXPECT_LT(MonotonicNs() - begin, 2'000'000'000);
  EXPECT_EQ(stuck.Statistics().dropped, 1U);
}

TEST_F(ExporterTest, ANameThatIsNotAnsweredHoldsUpNobody) {
  TestServer server;
  const std::string url = server.url();
  std::unique_lock silence(slow_names);
  Exporter stuck(To("http://some.slow" + url.substr(url.rfind(':'))));
  ASSERT_TRUE(stuck.Start());
  stuck.Enqueue(Signal::kProfiles, "x");
  std::int64_t begin = MonotonicNs();
  EXPECT_FALSE(stuck.Flush(In(0.3)));
  stuck.Stop(In(0.2));
  EXPECT_LT(MonotonicNs() - begin, 2'000'000'000);
  EXPECT_EQ(stuck.Statistics().dropped, 1U);
  silence.unlock();
  Exporter good(To("http://some.slow" + url.substr(url.rfind(':'))));
  ASSERT_TRUE(good.Start());
  good.Enqueue(Signal::kProfiles, "x");
  EXPECT_TRUE(good.Flush(In(10)));
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(ExporterTest, APartialSuccessIsNotSentAgain) {
  const std::string partial =
      "\x0a\x09\x08\x02\x12\x05"
      "wrong";
  TestServer server({TestServer::Answer(200, "", partial)});
  SetLogLevel(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  Exporter exporter(To(server.url()));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "x");
  EXPECT_TRUE(exporter.Flush(In(10)));
  exporter.Stop(0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "the server kept only a part (2 rejected): wrong"),
            std::string::npos);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(ExporterTest, AForkedChildSendsItsOwnAndNothingOfItsParents) {
  TestServer server({TestServer::Answer(200)});
  Exporter exporter(To(server.url()));
  ASSERT_TRUE(exporter.Start());
  exporter.Enqueue(Signal::kProfiles, "parent");
  ASSERT_TRUE(exporter.Flush(In(10)));
  const pid_t child = fork();
  if (child == 0) {
    exporter.AfterFork();
    exporter.Enqueue(Signal::kProfiles, "child");
    _exit(exporter.Flush(In(10)) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  exporter.Enqueue(Signal::kProfiles, "parent again");
  EXPECT_TRUE(exporter.Flush(In(10)));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(formats::Gunzip(requests[1].body, 100).value(), "child");
  EXPECT_NE(requests[1].connection, requests[0].connection);
  EXPECT_EQ(requests[2].connection, requests[0].connection);
}

TEST_F(ExporterTest, FilesHoldOneRequestEachUnderTheirFinalName) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("wherefore-exporter-{}", getpid());
  Options options;
  options.output_file = folder / "";
  {
    Exporter exporter(options);
    ASSERT_TRUE(exporter.Start());
    exporter.Enqueue(Signal::kProfiles, "p");
    exporter.Enqueue(Signal::kTraces, "t");
    EXPECT_TRUE(exporter.Flush(In(10)));
  }
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(files, (std::map<std::string, std::string>{
                       {fmt::format("{}-000001-profiles.otlp", getpid()), "p"},
                       {fmt::format("{}-000002-traces.otlp", getpid()), "t"}}));
}

TEST(AnswerReader, ReadsChunksPiecewise) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n";
  AnswerReader reader;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    const Result<bool> complete = reader.Add(bytes.substr(i, 1));
    ASSERT_TRUE(complete && !*complete) << i;
  }
  EXPECT_TRUE(reader.Add(bytes.substr(bytes.size() - 1)).value());
  EXPECT_EQ(reader.answer().body, "abcde");
  EXPECT_TRUE(reader.keep_alive());
}

TEST(AnswerReader, RefusesWhatIsNoAnswer) {
  for (const char* bad :
       {"FTP/1.1 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n"}) {
    EXPECT_FALSE(AnswerReader().Add(bad)) << bad;
  }
  AnswerReader cut;
  EXPECT_TRUE(cut.Add("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"));
  EXPECT_FALSE(cut.End());
  AnswerReader open;
  EXPECT_TRUE(open.Add("HTTP/1.0 200 OK\r\n\r\nab"));
  EXPECT_TRUE(open.End().value());
  EXPECT_EQ(open.answer().body, "ab");
}

}  // namespace
}  // namespace wherefore::sdk
