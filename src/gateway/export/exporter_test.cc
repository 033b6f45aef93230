// Exporters against real servers of ours on loopback, and against hostile ones.
#include "gateway/export/exporter.h"

#include <filesystem>
#include <fstream>
#include <future>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/test_directory.h"
#include "formats/pyroscope/ingest.h"
#include "gateway/export/sender.h"
#include "gateway/export/test_requests.h"
#include "gateway/otlp_receiver.h"
#include "gateway/pyroscope_receiver.h"
#include "gateway/test_sink.h"
#include "net/compression.h"
#include "net/grpc.h"
#include "net/http.h"

namespace wherefore::gateway {
namespace {

using Answer = Result<profile::WriteAnswer>;
using formats::Signal;

Answer WriteNow(profile::Sink& sink, profile::WriteRequest request) {
  std::promise<Answer> answer;
  sink.Write(std::move(request), [&](Answer result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

std::int64_t TotalOf(const profile::WriteRequest& request) {
  std::int64_t total = 0;
  if (const auto* const batch = std::get_if<profile::Batch>(&request.data)) {
    for (const std::int64_t value : batch->samples.value) total += value;
  }
  return total;
}

// A server that records requests and answers as it is told.
class Peer {
 public:
  struct Seen {
    std::string path;
    net::Headers headers;
    std::string body;  // decompressed
  };
  using Reply = std::function<net::HttpResponse(int number, const Seen& seen)>;

  explicit Peer(Reply reply, std::size_t max_body = 64u << 20) : reply_(std::move(reply)) {
    auto router = std::make_shared<net::Router>();
    router->SetFallback([this](net::HttpRequest request, net::Respond respond) {
      Seen seen{request.path, request.headers, *request.body};
      int number = 0;
      {
        MutexLock lock(mutex_);
        number = static_cast<int>(seen_.size());
        seen_.push_back(seen);
        changed_.NotifyAll();
      }
      respond(reply_(number, seen));
    });
    server_ = std::make_unique<net::HttpServer>(
        io_, net::HttpServerOptions{.addresses = {"127.0.0.1"}, .max_body_bytes = max_body},
        router);
    EXPECT_TRUE(server_->Start());
  }
  ~Peer() { server_->Stop(0); }
  [[nodiscard]] std::string Url() const {
    return fmt::format("http://127.0.0.1:{}", server_->port());
  }
  // Waits for so many requests.
  std::vector<Seen> Wait(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (seen_.size() < count && changed_.WaitUntil(mutex_, end)) {
    }
    EXPECT_GE(seen_.size(), count);
    return seen_;
  }

 private:
  Reply reply_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Seen> seen_ GUARDED_BY(mutex_);
  net::IoThreads io_{2};
  std::unique_ptr<net::HttpServer> server_;
};

net::HttpResponse Status(int status, std::string body = {}, net::Headers headers = {}) {
  net::HttpResponse response;
  response.status = status;
  response.content_type = "application/x-protobuf";
  response.body = std::move(body);
  response.headers = std::move(headers);
  return response;
}

class ExporterTest : public testing::Test {
 protected:
  ExporterTest() {
    SetLogLevel(LogLevel::kOff);
    options_.id = "otlphttp/test";
    options_.queue.directory = directory_ / "queue";
    options_.queue.consumers = 2;
    options_.timeout_ns = 5 * kNsPerSecond;
    options_.retry.initial_interval_ns = 20'000'000;
    options_.retry.max_interval_ns = 50'000'000;
    options_.probe_interval_ns = 200'000'000;
  }
  ~ExporterTest() override {
    if (exporter_) exporter_->Stop();
    SetLogLevel(LogLevel::kInfo);
  }
  void Start() {
    if (exporter_) exporter_->Stop();
    auto made = MakeExporter(options_);
    ASSERT_TRUE(made) << made.error().message();
    exporter_ = *std::move(made);
    const auto started = exporter_->Start();
    ASSERT_TRUE(started) << started.error().message();
  }
  [[nodiscard]] std::string Fact(const std::string& name) const {
    for (const auto& [key, value] : exporter_->status().facts) {
      if (key == name) return value;
    }
    return {};
  }
  void WaitFor(const std::string& fact, const std::string& value) {
    const std::int64_t end = MonotonicNs() + 20 * kNsPerSecond;
    while (Fact(fact) != value) {
      ASSERT_LT(MonotonicNs(), end) << fact << ": " << Fact(fact) << ", not " << value;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  TestDirectory directory_;
  ExporterOptions options_;
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(ExporterTest, TheSendersOwnBytesGoOn) {
  Peer peer([](int, const auto&) { return Status(200); });
  options_.endpoint = peer.Url() + "/";
  options_.headers = {{"X-Key", "secret"}, {"X-Empty", ""}};
  Start();
  profile::WriteRequest request = TestRequest(1, 1, "team");
  // Bytes that our encoder would not write.
  const std::string own =
      formats::EncodeOtlpProfiles(std::get<profile::Batch>(request.data)) + "\x98\x7d\x05";
  request.otlp_bytes = std::make_shared<const std::string>(own);
  ASSERT_TRUE(WriteNow(*exporter_, std::move(request)));
  const auto seen = peer.Wait(1);
  EXPECT_EQ(seen[0].path, "/v1development/profiles");
  EXPECT_EQ(seen[0].body, own);
  EXPECT_EQ(seen[0].headers.at("X-Key"), "secret");
  EXPECT_EQ(seen[0].headers.at("X-Scope-OrgID"), "team");
  EXPECT_EQ(seen[0].headers.at("Content-Type"), "application/x-protobuf");
  EXPECT_EQ(seen[0].headers.at("Content-Encoding"), "gzip");
  EXPECT_FALSE(seen[0].headers.contains("X-Empty")) << "an unset token is not sent";
  WaitFor("sent samples and spans", "1");
}

TEST_F(ExporterTest, EachEncodingAndSignalArrives) {
  FakeSink sink;
  net::IoThreads io(1);
  OtlpReceiver receiver(Intake(sink, std::make_shared<ReceiverMetrics>()), {});
  auto router = std::make_shared<net::Router>();
  receiver.AddRoutes(*router);
  net::HttpServer server(io, {.addresses = {"127.0.0.1"}}, router);
  ASSERT_TRUE(server.Start());
  options_.endpoint = fmt::format("http://127.0.0.1:{}", server.port());
  int number = 0;
  for (const bool json : {false, true}) {
    for (const char* compression : {"gzip", "zstd", "none"}) {
      options_.json = json;
      options_.compression = compression;
      Start();
      ASSERT_TRUE(WriteNow(*exporter_, TestRequest(++number)));
      profile::WriteRequest spans;
      profile::SpanBatch batch;
      batch.resources.push_back({});
      batch.scopes.push_back({});
      profile::Span span;
      span.trace[0] = 1;
      span.id[0] = 2;
      span.name = batch.AddText("GET /");
      span.start_ns = 1'700'000'000'000'000'000U;
      span.end_ns = span.start_ns + 5;
      batch.spans.push_back(span);
      spans.data = std::move(batch);
      spans.identity = HashString("spans " + std::to_string(number));
      ASSERT_TRUE(WriteNow(*exporter_, std::move(spans)));
      WaitFor("sent requests", "2");
      const auto requests = sink.Take();
      ASSERT_EQ(requests.size(), 2u) << json << compression;
      EXPECT_EQ(TotalOf(requests[0]) + TotalOf(requests[1]), number + 1);
    }
  }
  server.Stop(0);
}

TEST_F(ExporterTest, BatchesArriveWhole) {
  FakeSink sink;
  net::IoThreads io(1);
  OtlpReceiver receiver(Intake(sink, std::make_shared<ReceiverMetrics>()), {});
  auto router = std::make_shared<net::Router>();
  receiver.AddRoutes(*router);
  net::HttpServer server(io, {.addresses = {"127.0.0.1"}}, router);
  ASSERT_TRUE(server.Start());
  options_.endpoint = fmt::format("http://127.0.0.1:{}", server.port());
  options_.queue.batch = BatchOptions{.timeout_ns = 20'000'000, .min_size = 50};
  Start();
  std::int64_t expected = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
    expected += i + 1;
  }
  WaitFor("queued requests", "0");
  std::int64_t total = 0;
  const auto requests = sink.Take();
  for (const auto& request : requests) total += TotalOf(request);
  EXPECT_EQ(total, expected);
  EXPECT_LT(requests.size(), 100u);
  server.Stop(0);
}

TEST_F(ExporterTest, RetriesCarryTheSameBytes) {
  Peer peer([](int number, const auto&) {
    constexpr std::array kAnswers = {429, 502, 503, 504, 200};
    return Status(kAnswers[static_cast<std::size_t>(std::min(number, 4))], {},
                  {{"Retry-After", "1e9"}});
  });
  options_.endpoint = peer.Url();
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1)));
  const auto seen = peer.Wait(5);
  for (const auto& one : seen) EXPECT_EQ(one.body, seen[0].body);
  WaitFor("sent requests", "1");
  EXPECT_EQ(Fact("queued requests"), "0");
}

TEST_F(ExporterTest, RetryAfterIsObeyed) {
  Peer peer([](int number, const auto&) {
    return number == 0 ? Status(503, {}, {{"Retry-After", "1"}}) : Status(200);
  });
  options_.endpoint = peer.Url();
  Start();
  const std::int64_t begin = MonotonicNs();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1)));
  peer.Wait(2);
  EXPECT_GE(MonotonicNs() - begin, kNsPerSecond * 9 / 10);
}

TEST_F(ExporterTest, WhatIsRefusedForGoodIsDroppedAndCounted) {
  Peer peer([](int number, const auto&) {
    return number == 0 ? Status(400, formats::EncodeRpcStatus({3, "no such type"}, false))
                       : Status(200);
  });
  options_.endpoint = peer.Url();
  options_.queue.consumers = 1;
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1, 7)));
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(2)));
  WaitFor("sent requests", "1");
  EXPECT_EQ(Fact("dropped (refused)"), "7");
  EXPECT_NE(Fact("last error").find("answered 400: no such type"), std::string::npos)
      << Fact("last error");
}

TEST_F(ExporterTest, PartialSuccessIsFinalAndCounted) {
  Peer peer([](int, const auto&) {
    return Status(200,
                  formats::EncodeExportResponse(Signal::kProfiles, false, 3, "three were old"));
  });
  options_.endpoint = peer.Url();
  options_.id = "otlphttp/partial";
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1)));
  WaitFor("rejected by the next hop", "3");
  EXPECT_EQ(Fact("queued requests"), "0");
  EXPECT_EQ(peer.Wait(1).size(), 1u);
}

TEST_F(ExporterTest, AWrongConfigurationKeepsTheQueueAndProbes) {
  std::atomic<bool> corrected = false;
  Peer peer([&](int number, const auto&) {
    constexpr std::array kAnswers = {401, 403, 404, 307};
    return corrected ? Status(200) : Status(kAnswers[static_cast<std::size_t>(number % 4)]);
  });
  options_.endpoint = peer.Url();
  options_.queue.consumers = 8;
  Start();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
  // Those that were under way, then one every 0.2 s.
  const std::int64_t begin = MonotonicNs();
  const std::size_t at_first = peer.Wait(1).size();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::size_t later = peer.Wait(1).size();
  EXPECT_LE(later - at_first, 8u + static_cast<std::size_t>((MonotonicNs() - begin) / 200'000'000));
  EXPECT_EQ(Fact("queued requests"), "20");
  ASSERT_FALSE(exporter_->status().problems.empty());
  EXPECT_NE(exporter_->status().problems[0].what.find("refuses every request"), std::string::npos);
  corrected = true;
  WaitFor("queued requests", "0");
  EXPECT_TRUE(exporter_->status().problems.empty());
}

TEST_F(ExporterTest, TooLargeIsHalvedUntilItIsTaken) {
  FakeSink sink;
  net::IoThreads io(1);
  OtlpReceiver receiver(Intake(sink, std::make_shared<ReceiverMetrics>()), {});
  auto router = std::make_shared<net::Router>();
  receiver.AddRoutes(*router);
  net::HttpServer server(io, {.addresses = {"127.0.0.1"}, .max_body_bytes = 3000}, router);
  ASSERT_TRUE(server.Start());
  options_.endpoint = fmt::format("http://127.0.0.1:{}", server.port());
  options_.queue.batch = BatchOptions{.timeout_ns = 0, .min_size = 0};
  Start();
  std::int64_t expected = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i, 300)));
    expected += 300 * (i + 1);
  }
  WaitFor("queued requests", "0");
  std::int64_t total = 0;
  for (const auto& request : sink.Take()) total += TotalOf(request);
  EXPECT_EQ(total, expected);
  EXPECT_EQ(Fact("dropped (too_large)"), "");
  server.Stop(0);
}

TEST_F(ExporterTest, AServerThatIsNotThereIsWaitedFor) {
  std::uint16_t port = 0;
  {
    Peer gone([](int, const auto&) { return Status(200); });
    port = static_cast<std::uint16_t>(std::stoi(gone.Url().substr(gone.Url().rfind(':') + 1)));
  }
  options_.endpoint = fmt::format("http://127.0.0.1:{}", port);
  Start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
  const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
  while (Fact("last error").empty()) ASSERT_LT(MonotonicNs(), end);
  EXPECT_EQ(Fact("queued requests"), "5");
  EXPECT_TRUE(WriteNow(*exporter_, TestRequest(3))->repeated);
  // Another exporter, with the same queue, after a restart.
  Peer peer([](int, const auto&) { return Status(200); });
  options_.endpoint = peer.Url();
  Start();
  WaitFor("queued requests", "0");
  EXPECT_EQ(peer.Wait(5).size(), 5u);
}

TEST_F(ExporterTest, ItIsGivenUpOnlyIfToldSo) {
  Peer peer([](int, const auto&) { return Status(503); });
  options_.endpoint = peer.Url();
  options_.retry.max_elapsed_ns = 200'000'000;
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1, 5)));
  WaitFor("dropped (gave_up)", "5");
  options_.retry.enabled = false;
  options_.queue.directory = directory_ / "other";
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(1, 4)));
  WaitFor("dropped (retry_off)", "4");
}

TEST_F(ExporterTest, SendersMayWaitForTheNextHop) {
  Peer peer([](int number, const auto&) {
    return Status(number == 0 ? 503 : number == 1 ? 400 : 200);
  });
  options_.endpoint = peer.Url();
  options_.queue.wait_for_result = true;
  Start();
  EXPECT_EQ(WriteNow(*exporter_, TestRequest(1)).error().code(), Code::kUnavailable);
  EXPECT_EQ(WriteNow(*exporter_, TestRequest(1)).error().code(), Code::kInvalid);
  EXPECT_TRUE(WriteNow(*exporter_, TestRequest(1)));
  EXPECT_EQ(peer.Wait(3).size(), 3u);
}

TEST_F(ExporterTest, OverGrpcNothingIsLargerThanTheLimit) {
  std::atomic<std::size_t> largest = 0;
  std::atomic<std::int64_t> total = 0;
  std::atomic<int> calls = 0;
  net::IoThreads io(1);
  net::GrpcServer server(
      io, {.addresses = {"127.0.0.1"}, .max_message_bytes = 4u << 20},
      [&](const net::GrpcRequest& request, const std::function<void(net::GrpcResponse)>& answer) {
        EXPECT_EQ(request.method,
                  "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export");
        EXPECT_EQ(request.metadata.at("x-scope-orgid"), "team");
        if (calls++ == 0) {
          return answer({8, "busy", {}, formats::EncodeRpcStatus({8, "busy", "", 100}, false)});
        }
        largest = std::max(largest.load(), request.body->size());
        const auto decoded = formats::DecodeOtlpProfiles(request.body);
        for (const std::int64_t value : decoded->data.samples.value) total += value;
        answer({});
      });
  ASSERT_TRUE(server.Start());
  options_.kind = ExporterOptions::Kind::kOtlpGrpc;
  options_.endpoint = fmt::format("http://127.0.0.1:{}", server.port());
  Start();
  // One request of 10 MB in one profile.
  profile::WriteRequest request = TestRequest(1, 1'000'000, "team");
  request.otlp_bytes = std::make_shared<const std::string>(
      formats::EncodeOtlpProfiles(std::get<profile::Batch>(request.data)));
  ASSERT_GT(request.otlp_bytes->size(), 5u << 20);
  ASSERT_TRUE(WriteNow(*exporter_, std::move(request)));
  WaitFor("queued requests", "0");
  EXPECT_EQ(total, 2'000'000);
  EXPECT_LE(largest, 7u << 19);
  exporter_->Stop();
  server.Stop(0);
}

TEST_F(ExporterTest, PushCarriesServiceTypeAndTotals) {
  Peer peer([](int, const auto&) { return Status(200); });
  options_.kind = ExporterOptions::Kind::kPyroscope;
  options_.endpoint = peer.Url();
  options_.queue.batch = BatchOptions{.timeout_ns = 0, .min_size = 0};
  Start();
  ASSERT_TRUE(WriteNow(*exporter_, TestRequest(41, 2, "team")));
  const auto seen = peer.Wait(1);
  EXPECT_EQ(seen[0].path, "/push.v1.PusherService/Push");
  EXPECT_EQ(seen[0].headers.at("X-Scope-OrgID"), "team");
  const auto series = formats::DecodePush(seen[0].body);
  ASSERT_TRUE(series) << series.error().message();
  ASSERT_EQ(series->size(), 1u);
  const std::map<std::string, std::string> labels(series->at(0).labels.begin(),
                                                  series->at(0).labels.end());
  EXPECT_EQ(labels.at("service_name"), "shop");
  EXPECT_EQ(labels.at("__delta__"), "false");
  EXPECT_FALSE(labels.at("__name__").empty());
  const auto decoded = formats::DecodePushRequest(seen[0].body, false, NowUnixNs());
  ASSERT_TRUE(decoded) << decoded.error().message();
  ASSERT_EQ(decoded->profiles.size(), 1u);
  std::int64_t total = 0;
  for (const std::int64_t value : decoded->profiles[0].decoded.data.samples.value) total += value;
  EXPECT_EQ(total, 84);
  profile::WriteRequest spans;
  spans.data = profile::SpanBatch();
  EXPECT_EQ(WriteNow(*exporter_, std::move(spans)).error().code(), Code::kUnsupported);
}

TEST_F(ExporterTest, FilesAreRotatedAndWhole) {
  options_.kind = ExporterOptions::Kind::kFile;
  for (const bool proto : {false, true}) {
    options_.queue.directory = directory_ / (proto ? "queue-proto" : "queue-json");
    const std::string folder = directory_ / (proto ? "proto" : "json");
    options_.file = {.path = folder + "/out.data",
                     .proto = proto,
                     .max_bytes = 2000,
                     .max_backups = 3,
                     .create_directory = true};
    Start();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
    WaitFor("queued requests", "0");
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
      EXPECT_LE(entry.file_size(), 2000u);
    }
    EXPECT_EQ(names.size(), 4u) << "three backups and the file";
    // What a crash left of a record is cut off.
    exporter_->Stop();
    const std::uintmax_t size = std::filesystem::file_size(options_.file.path);
    std::ofstream(options_.file.path, std::ios::app | std::ios::binary) << std::string(3, '\x7f');
    Start();
    EXPECT_EQ(std::filesystem::file_size(options_.file.path), size);
  }
}

TEST_F(ExporterTest, FilesSayWhatWasSent) {
  options_.kind = ExporterOptions::Kind::kFile;
  for (const bool proto : {false, true}) {
    for (const bool zstd : {false, true}) {
      const std::string name = fmt::format("{}{}", proto, zstd);
      options_.queue.directory = directory_ / ("queue" + name);
      options_.file = {.path = directory_ / ("out" + name), .proto = proto, .zstd = zstd};
      Start();
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
      WaitFor("queued requests", "0");
      std::ifstream in(options_.file.path, std::ios::binary);
      std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      std::int64_t total = 0;
      while (!content.empty()) {
        std::size_t size = 0;
        std::size_t begin = 0;
        if (!proto && !zstd) {
          size = content.find('\n') + 1;
        } else {
          for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(content[i]);
          begin = 4;
        }
        std::string record = content.substr(begin, size);
        content.erase(0, begin + size);
        if (zstd) record = *net::Decompress("zstd", record, 1u << 20);
        const auto body = std::make_shared<const std::string>(record);
        const auto decoded =
            proto ? formats::DecodeOtlpProfiles(body) : formats::DecodeOtlpProfilesJson(body);
        ASSERT_TRUE(decoded) << decoded.error().message();
        total += decoded->data.samples.value.at(0);
      }
      EXPECT_EQ(total, 6) << name;
    }
  }
}

TEST_F(ExporterTest, DebugTakesEverything) {
  options_.kind = ExporterOptions::Kind::kDebug;
  options_.debug.verbosity = ExporterOptions::Debug::Verbosity::kDetailed;
  Start();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(WriteNow(*exporter_, TestRequest(i)));
  EXPECT_EQ(Fact("samples and spans"), "10");
}

TEST_F(ExporterTest, OptionsThatCannotWorkAreNamed) {
  const auto place = [&](auto change) {
    ExporterOptions options = options_;
    options.endpoint = "http://127.0.0.1:1";
    change(options);
    const auto made = MakeExporter(options);
    EXPECT_FALSE(made);
    return made ? std::string() : std::string(made.error().place());
  };
  EXPECT_EQ(place([](auto& o) { o.endpoint = "127.0.0.1:1"; }), "endpoint");
  EXPECT_EQ(place([](auto& o) { o.endpoint = ""; }), "endpoint");
  EXPECT_EQ(place([](auto& o) { o.traces_endpoint = "x"; }), "traces_endpoint");
  EXPECT_EQ(place([](auto& o) { o.compression = "snappy"; }), "compression");
  EXPECT_EQ(place([](auto& o) { o.tls.ca_file = "/no/such"; }), "tls");
  EXPECT_EQ(place([](auto& o) { o.headers["A"] = "x\r\nB: y"; }), "headers");
  EXPECT_EQ(place([](auto& o) { o.queue.size = 0; }), "sending_queue.queue_size");
  EXPECT_EQ(place([](auto& o) {
              o.kind = ExporterOptions::Kind::kOtlpGrpc;
              o.endpoint = "host";
            }),
            "endpoint");
  EXPECT_EQ(place([](auto& o) {
              o.kind = ExporterOptions::Kind::kOtlpGrpc;
              o.compression = "zstd";
            }),
            "compression");
  EXPECT_EQ(place([](auto& o) { o.kind = ExporterOptions::Kind::kFile; }), "path");
}

TEST(RetryAfter, SecondsDatesAndNonsense) {
  const std::int64_t now = 1'700'000'000 * kNsPerSecond;  // Tue, 14 Nov 2023 22:13:20 GMT
  EXPECT_EQ(RetryAfterNs("7", now), 7 * kNsPerSecond);
  EXPECT_EQ(RetryAfterNs("1000000000", now), 300 * kNsPerSecond);
  EXPECT_EQ(RetryAfterNs("99999999999999999999999", now), 0);
  EXPECT_EQ(RetryAfterNs("1e9", now), 0);
  EXPECT_EQ(RetryAfterNs("-5", now), 0);
  EXPECT_EQ(RetryAfterNs("", now), 0);
  EXPECT_EQ(RetryAfterNs("Tue, 14 Nov 2023 22:13:50 GMT", now), 30 * kNsPerSecond);
  EXPECT_EQ(RetryAfterNs("Tue, 14 Nov 2023 22:13:10 GMT", now), 0);
  EXPECT_EQ(RetryAfterNs("Tue, 14 Nov 2033 22:13:10 GMT", now), 300 * kNsPerSecond);
}

TEST(Outcomes, FollowTheProtocol) {
  using Kind = Outcome::Kind;
  const auto http = [](int status) {
    net::ClientResponse response;
    response.status = status;
    return OutcomeOf(Result<net::ClientResponse>(response), "x").kind;
  };
  for (const int status : {200, 202, 204}) EXPECT_EQ(http(status), Kind::kSent) << status;
  for (const int status : {429, 502, 503, 504}) EXPECT_EQ(http(status), Kind::kRetry) << status;
  for (const int status : {400, 405, 422, 500, 501}) EXPECT_EQ(http(status), Kind::kRefused);
  for (const int status : {301, 307, 401, 403, 404})
    EXPECT_EQ(http(status), Kind::kMisconfigured) << status;
  EXPECT_EQ(http(413), Kind::kTooLarge);
  EXPECT_EQ(OutcomeOf(Error(Code::kIo, "no answer"), "x").kind, Kind::kRetry);
  const auto grpc = [](int status, std::string message = {}, std::string details = {}) {
    return OutcomeOf(net::GrpcAnswer{status, std::move(message), {}, std::move(details)}, "x");
  };
  for (const int status : {1, 4, 10, 11, 14, 15}) EXPECT_EQ(grpc(status).kind, Kind::kRetry);
  for (const int status : {2, 3, 5, 6, 9, 13}) EXPECT_EQ(grpc(status).kind, Kind::kRefused);
  for (const int status : {7, 12, 16}) EXPECT_EQ(grpc(status).kind, Kind::kMisconfigured);
  EXPECT_EQ(grpc(8).kind, Kind::kRefused);
  EXPECT_EQ(grpc(8, "grpc: received message larger than max (5 vs. 4)").kind, Kind::kTooLarge);
  const Outcome busy = grpc(8, "busy", formats::EncodeRpcStatus({8, "", "", 2500}, false));
  EXPECT_EQ(busy.kind, Kind::kRetry);
  EXPECT_EQ(busy.retry_after_ns, 2'500'000'000);
}

}  // namespace
}  // namespace wherefore::gateway
