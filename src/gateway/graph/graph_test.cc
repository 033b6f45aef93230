// Graphs: where requests go, who is copied to, who decides the answer, and what a reload changes.
#include "gateway/graph/graph.h"

#include <gtest/gtest.h>

#include "gateway/process/test_requests.h"
#include "gateway/test_sink.h"
#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

using profile::WriteAnswer;
using profile::WriteRequest;

// Records what it gets, as a queue on disk would take it.
class RecordingExporter final : public Exporter {
 public:
  struct Book {
    Mutex mutex;
    std::map<std::string, FakeSink> sinks;  // by exporter
    std::vector<std::string> events;
    std::string fails_to_start;
  };
  RecordingExporter(Book& book, ExporterOptions options)
      : book_(book), options_(std::move(options)), sink_(book.sinks[options_.id]) {}
  void Write(WriteRequest request, std::function<void(Result<WriteAnswer>)> done) override {
    sink_.Write(std::move(request), std::move(done));
  }
  Result<> Start() override {
    const std::string what = options_.id + " " + options_.endpoint;
    if (what == book_.fails_to_start) return Error(Code::kIo, "no disk");
    book_.events.push_back("start " + what);
    return {};
  }
  void Stop() override { book_.events.push_back("stop " + options_.id + " " + options_.endpoint); }
  [[nodiscard]] Status status() const override { return {.part = options_.id, .facts = {}}; }

 private:
  Book& book_;
  const ExporterOptions options_;
  FakeSink& sink_;
};

class GraphTest : public testing::Test {
 protected:
  static GatewayConfig Config(const std::string& yaml) {
    Problems problems;
    const auto root = ParseYaml(yaml, "c.yaml", problems);
    GatewayConfig config = ReadGatewayConfig(root.value_or(Node()), "/data", problems);
    EXPECT_FALSE(problems.failed()) << problems.error().message();
    return config;
  }
  // A profiles pipeline of one receiver.
  static std::string With(const std::string& processors, const std::string& exporters) {
    return "receivers: {otlp: {protocols: {grpc: }}}\n"
           "processors: {redact: , batch: , rate_limit: {samples_per_second: 1}, filter: "
           "{profile_conditions: ['true']}}\n"
           "exporters: {wherefore: , otlphttp/a: {endpoint: 'http://a'}, otlphttp/b: {endpoint: "
           "'http://b'}}\n"
           "service: {pipelines: {profiles: {receivers: [otlp], processors: [" +
           processors + "], exporters: [" + exporters + "]}}}\n";
  }
  void Use(const GatewayConfig& config) {
    const Result<> updated = exporters_.Update(config.exporters);
    ASSERT_TRUE(updated) << updated.error().message();
    graph_ = std::make_shared<const Graph>(config, &store_, exporters_);
    inlet_.Set(graph_);
    exporters_.RemoveOthers(config.exporters);
  }
  // The answer to a request through the inlet; each request counts its answers.
  Result<WriteAnswer> Send(WriteRequest request) {
    std::vector<Result<WriteAnswer>> answers;
    inlet_.Write(std::move(request),
                 [&](Result<WriteAnswer> answer) { answers.push_back(std::move(answer)); });
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? Result<WriteAnswer>(Error(Code::kInternal, "no answer")) : answers[0];
  }
  std::size_t Got(const std::string& exporter) { return book_.sinks[exporter].Take().size(); }

  RecordingExporter::Book book_;
  FakeSink store_;
  ExporterSet exporters_{[this](const ExporterConfig& config) -> Result<std::unique_ptr<Exporter>> {
    return std::make_unique<RecordingExporter>(book_, config.options);
  }};
  std::shared_ptr<const Graph> graph_;
  Inlet inlet_{"otlp"};
};

TEST_F(GraphTest, TheDefaultLeadsStraightToTheStore) {
  Use(DefaultPipelines());
  WriteRequest request = ProfileRequest("shop", "f");
  const void* const strings = ProfilesOf(request).strings.data();
  ASSERT_TRUE(Send(std::move(request)));
  const auto stored = store_.Take();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(ProfilesOf(stored[0]).strings.data(), strings);  // moved all the way, never copied
  EXPECT_TRUE(stored[0].otlp_bytes);
}

TEST_F(GraphTest, EachEndHasItsOwnCopy) {
  Use(Config(With("redact, batch", "otlphttp/a, wherefore, otlphttp/b")));
  ASSERT_TRUE(Send(ProfileRequest("shop", "read_secret")));
  for (const auto& requests :
       {store_.Take(), book_.sinks["otlphttp/a"].Take(), book_.sinks["otlphttp/b"].Take()}) {
    ASSERT_EQ(requests.size(), 1u);
    ASSERT_TRUE(ProfilesOf(requests[0]).Validate());
    EXPECT_TRUE(Mentions(requests[0], "[REDACTED]"));
    EXPECT_FALSE(Mentions(requests[0], "read_secret"));
    EXPECT_FALSE(requests[0].otlp_bytes);
  }
}

TEST_F(GraphTest, TheStoreDecidesAndADeadVendorStopsNobody) {
  Use(Config(With("", "otlphttp/a, wherefore")));
  book_.sinks["otlphttp/a"].AnswerNext(Error(Code::kLimit, "the queue is full"));
  EXPECT_TRUE(Send(ProfileRequest("shop", "f")));
  EXPECT_EQ(graph_->status().problems.size(), 1u);
  store_.AnswerNext(Error(Code::kUnavailable, "disk full"));
  const auto refused = Send(ProfileRequest("shop", "f"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "disk full");
}

TEST_F(GraphTest, TheOnlyExporterIsRequired) {
  Use(Config(With("", "otlphttp/a")));
  book_.sinks["otlphttp/a"].AnswerNext(Error(Code::kLimit, "the queue is full"));
  EXPECT_FALSE(Send(ProfileRequest("shop", "f")));
}

TEST_F(GraphTest, IfAllRefuseNothingIsAcknowledged) {
  Use(Config(With("", "otlphttp/a, otlphttp/b")));
  book_.sinks["otlphttp/a"].AnswerNext(Error(Code::kLimit, "full"));
  EXPECT_TRUE(Send(ProfileRequest("shop", "f")));
  book_.sinks["otlphttp/a"].AnswerNext(Error(Code::kLimit, "full"));
  book_.sinks["otlphttp/b"].AnswerNext(Error(Code::kLimit, "full"));
  EXPECT_FALSE(Send(ProfileRequest("shop", "f")));
}

TEST_F(GraphTest, WhatTheDecoderRejectedIsStillSaid) {
  Use(Config(With("filter", "wherefore")));
  WriteRequest request = ProfileRequest("shop", "f");
  request.decoded = {.rejected = 2, .message = "two were broken"};
  const auto answer = Send(std::move(request));  // the filter leaves nothing
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected, 2u);
  EXPECT_TRUE(store_.Take().empty());
}

TEST_F(GraphTest, ProcessorsRefuse) {
  Use(Config(With("rate_limit", "wherefore")));
  std::size_t taken = 0;
  Result<WriteAnswer> answer = WriteAnswer{};
  for (; answer && taken < 100; ++taken) answer = Send(ProfileRequest("shop", "f"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kLimit);
  EXPECT_EQ(store_.Take().size(), taken - 1);
}

TEST_F(GraphTest, ASignalWithoutPipelineIsToldWhereToGo) {
  Use(
      Config("receivers:\n"
             "  otlp: {protocols: {grpc: }}\n"
             "  otlp/t: {protocols: {http: {endpoint: 'localhost:4328'}}}\n"
             "exporters: {wherefore: }\n"
             "service: {pipelines: {profiles: {receivers: [otlp], exporters: [wherefore]}, traces: "
             "{receivers: [otlp/t], exporters: [wherefore]}}}\n"));
  const auto refused = Send(SpanRequest("shop", "op"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnsupported);
  EXPECT_EQ(refused.error().message(),
            "receiver otlp takes no traces; send them to otlp/t at port 4328 (HTTP)");
}

TEST_F(GraphTest, TwoPipelinesIntoOneEndAreTwoRequests) {
  Use(
      Config("receivers: {otlp: {protocols: {grpc: }}}\n"
             "exporters: {wherefore: }\nprocessors: {redact: }\n"
             "service: {pipelines: {profiles: {receivers: [otlp], exporters: [wherefore]}, "
             "profiles/x: {receivers: [otlp], processors: [redact], exporters: [wherefore]}}}\n"));
  ASSERT_TRUE(Send(ProfileRequest("shop", "a_secret")));
  const auto stored = store_.Take();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_NE(stored[0].identity, stored[1].identity);
  EXPECT_NE(Mentions(stored[0], "a_secret"), Mentions(stored[1], "a_secret"));
}

TEST_F(GraphTest, AReloadChangesOnlyWhatChanged) {
  const std::string before = With("", "otlphttp/a, otlphttp/b, wherefore");
  Use(Config(before));
  book_.events.clear();
  Use(Config(before));
  EXPECT_TRUE(book_.events.empty());
  std::string after = before;
  after.replace(after.find("http://b"), 8, "http://c");
  Use(Config(after));
  EXPECT_EQ(book_.events,
            (std::vector<std::string>{"stop otlphttp/b http://b", "start otlphttp/b http://c"}));
  book_.events.clear();
  Use(Config(With("", "otlphttp/a")));
  EXPECT_EQ(book_.events, (std::vector<std::string>{"stop otlphttp/b http://c"}));
  EXPECT_TRUE(Send(ProfileRequest("shop", "f")));
}

TEST_F(GraphTest, AFailedReloadLeavesEverythingAsItWas) {
  const std::string before = With("", "otlphttp/a, otlphttp/b");
  Use(Config(before));
  std::string after = before;
  after.replace(after.find("http://a"), 8, "http://x");
  after.replace(after.find("http://b"), 8, "http://y");
  book_.fails_to_start = "otlphttp/b http://y";
  book_.events.clear();
  const Result<> failed = exporters_.Update(Config(after).exporters);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "exporter otlphttp/b: no disk");
  EXPECT_EQ(book_.events,
            (std::vector<std::string>{"stop otlphttp/a http://a", "start otlphttp/a http://x",
                                      "stop otlphttp/b http://b", "start otlphttp/b http://b",
                                      "stop otlphttp/a http://x", "start otlphttp/a http://a"}));
  EXPECT_TRUE(Send(ProfileRequest("shop", "f")));
}

TEST_F(GraphTest, RequestsFinishInTheGraphTheyBeganIn) {
  // A store that answers later.
  struct Later final : profile::Sink {
    void Write(WriteRequest, std::function<void(Result<WriteAnswer>)> done) override {
      waiting.push_back(std::move(done));
    }
    std::vector<std::function<void(Result<WriteAnswer>)>> waiting;
  } later;
  std::weak_ptr<const Graph> old;
  {
    auto graph = std::make_shared<const Graph>(DefaultPipelines(), &later, exporters_);
    old = graph;
    inlet_.Set(std::move(graph));
  }
  int answered = 0;
  inlet_.Write(ProfileRequest("shop", "f"), [&](Result<WriteAnswer> r) { answered += r ? 1 : 0; });
  Use(DefaultPipelines());
  EXPECT_FALSE(old.expired());
  later.waiting.at(0)(WriteAnswer{});
  later.waiting.clear();
  EXPECT_EQ(answered, 1);
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace wherefore::gateway
