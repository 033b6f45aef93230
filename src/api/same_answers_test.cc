// The same questions over HTTP, asked over the real store and over the one in memory with the same
// generated data: what people see must be the same, to the byte.
#include <fmt/format.h>

#include "api/test_api.h"
#include "base/clock.h"

namespace wherefore::api {
namespace {

class SameAnswersOverHttp : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    engine_ = std::make_unique<Served>(query::Kept::kInEngine);
    memory_ = std::make_unique<Served>(query::Kept::kInMemory);
    for (Served* served : {engine_.get(), memory_.get()}) {
      ASSERT_TRUE(served->data().is_open());
      for (profile::WriteRequest& request : query::Generated(2, now_).Requests())
        served->data().Write(std::move(request));
      served->data().Flush();
    }
  }
  void Same(const std::string& target) {
    const net::HttpResponse want = engine_->Get(target);
    const net::HttpResponse got = memory_->Get(target);
    EXPECT_EQ(want.status, got.status) << target << "\n" << want.body << "\n" << got.body;
    EXPECT_EQ(want.content_type, got.content_type) << target;
    if (want.status == 200) ++answered_;
    const auto [a, b] = std::ranges::mismatch(want.body, got.body);
    const auto at = static_cast<std::size_t>(a - want.body.begin());
    EXPECT_TRUE(a == want.body.end() && b == got.body.end())
        << target << " differs at byte " << at << "\nengine: ..."
        << want.body.substr(at - std::min<std::size_t>(at, 100), 300) << "\nmemory: ..."
        << got.body.substr(at - std::min<std::size_t>(at, 100), 300);
  }
  // from and to of the last three quarters of an hour, and of everything.
  [[nodiscard]] std::vector<std::string> Ranges() const {
    const auto range = [&](std::int64_t ago_ns) {
      return fmt::format("from={}&to={}", (now_ - ago_ns) / 1'000'000, now_ / 1'000'000);
    };
    return {range(2700 * kNsPerSecond), range(80 * kNsPerDay)};
  }

  const std::int64_t now_ = NowUnixNs() / (60 * kNsPerSecond) * (60 * kNsPerSecond);
  std::unique_ptr<Served> engine_;
  std::unique_ptr<Served> memory_;
  int answered_ = 0;
};

const std::vector<std::string> kTypes = {"samples", "cpu",     "inuse_space",
                                         "threads", "off_cpu", "alloc_space"};
const std::vector<std::string> kQueries = {"", "shop", "db{pod=\"a\"}", "{thread=\"one\"}",
                                           "{region=~\"e.*\",pod!=\"a\"}"};

TEST_F(SameAnswersOverHttp, TreesAndSumsOverTime) {
  for (const std::string& range : Ranges()) {
    for (const std::string& type : kTypes) {
      for (const std::string& query : kQueries) {
        const std::string of = fmt::format("{}&type={}&query={}", range, type, query);
        Same("/api/v1/flame?observed=true&search=parse&" + of);
        Same("/api/v1/top?sort=total&" + of);
        Same("/api/v1/series?step=600s&by=pod&" + of);
        Same("/api/v1/list?function=main|find&" + of);
      }
      const std::string of = fmt::format("{}&type={}", range, type);
      Same("/api/v1/series?step=600s&by=thread&search=read&lens=drop:send&" + of);
      Same("/api/v1/heatmap?step=600s&" + of);
      Same("/api/v1/heatmap?step=600s&search=main&" + of);
      Same("/api/v1/diff?base_query={pod=\"a\"}&query={pod=\"b\"}&" + of);
      Same("/api/v1/profiles?limit=30&" + of);
      Same("/api/v1/export?format=folded&" + of);
      Same("/api/v1/export?format=csv&" + of);
    }
  }
  EXPECT_GT(answered_, 250);
}

TEST_F(SameAnswersOverHttp, NamesAndOverviews) {
  for (const std::string& range : Ranges()) {
    Same("/api/v1/services?" + range);
    Same("/api/v1/overview?" + range);
    Same("/api/v1/span-names?" + range);
    Same("/api/v1/labels?" + range);
    for (const char* label : {"pod", "thread", "region", "service.name", "nothing"})
      Same(fmt::format("/api/v1/labels/{}/values?{}", label, range));
    Same("/pyroscope/labels?" + range);
    Same("/pyroscope/api/apps?" + range);
  }
  EXPECT_EQ(answered_, 22);
}

TEST_F(SameAnswersOverHttp, Traces) {
  for (const std::string& range : Ranges()) {
    for (const char* sort : {"time", "duration", "cpu", "samples"})
      Same(fmt::format("/api/v1/traces?sort={}&limit=5&{}", sort, range));
    Same("/api/v1/traces?service=db&status=error&attribute=route=/pay&" + range);
    for (const char* function : {"parse", "main", "nowhere"}) {
      for (const char* type : {"samples", "off_cpu"})
        Same(fmt::format("/api/v1/function-traces?function={}&type={}&{}", function, type, range));
    }
  }
  for (std::uint64_t i = 0; i <= query::Generated::kTraces; ++i) {
    const std::string trace = query::Generated::TraceHex(i);
    Same("/api/v1/traces/" + trace);
    Same("/api/v1/traces/" + trace + "?format=columns");
    Same("/api/traces/" + trace);
    for (const char* type : {"", "samples", "cpu", "off_cpu"}) {
      Same(fmt::format("/api/v1/traces/{}/flame?type={}", trace, type));
      Same(fmt::format("/api/v1/traces/{}/flame?type={}&subtree=true&span={}", trace, type,
                       query::Generated::SpanHex(i * query::Generated::kSpansOfATrace + 1)));
    }
  }
  EXPECT_GT(answered_, 100);
}

}  // namespace
}  // namespace wherefore::api
