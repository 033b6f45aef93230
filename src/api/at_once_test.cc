// Several people ask at once while profiles come in. Mostly for ThreadSanitizer; what must hold
// anyway: every question is answered, no total falls, and in the end everything is counted.
#include <atomic>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "api/test_api.h"
#include "base/clock.h"

namespace wherefore::api {
namespace {

using query::BatchBuilder;

constexpr std::int64_t kRequests = 60;
constexpr std::int64_t kEach = 10;  // samples of a request, in all

class AtOnceTest : public testing::Test {
 protected:
  // A few names are new with every request, so that tries and lists of names grow.
  profile::WriteRequest Request(std::int64_t number) const {
    BatchBuilder batch;
    const std::string trace = fmt::format("{:032x}", number % 7 + 1);
    batch.Add({.service = number % 3 == 0 ? "db" : "shop",
               .resource = {{"pod", fmt::format("p{}", number % 5)}},
               .time_ns = start_ + number * kNsPerSecond},
              {{{"parse", "main"}, kEach - 3},
               {{fmt::format("f{}", number), "main"}, 1},
               {{"read", "main"},
                2,
                trace,
                "0100000000000000",
                {static_cast<std::uint64_t>(start_ + number * kNsPerSecond)}}});
    batch.Add({.time_ns = start_ + number * kNsPerSecond, .type = "inuse_space", .unit = "bytes"},
              {{{"keep", "main"}, 1000 + number}});
    return batch.Request(fmt::format("request {}", number));
  }
  [[nodiscard]] std::vector<std::string> Targets() const {
    const std::string range = fmt::format("from={}&to={}", start_ / 1'000'000,
                                          start_ / 1'000'000 + (kRequests + 60) * 1000);
    std::vector<std::string> out;
    for (const char* target :
         {"flame?type=samples&observed=true&search=f1&", "top?type=cpu&", "services?", "labels?",
          "labels/pod/values?", "series?type=samples&by=pod&step=10s&search=parse&",
          "series?type=inuse_space&step=10s&", "flame?type=inuse_space&", "overview?",
          "heatmap?type=samples&step=10s&search=read&", "list?type=samples&function=parse&",
          "diff?type=samples&base_query={pod=\"p1\"}&", "profiles?type=samples&",
          "export?type=samples&format=otlp-json&", "function-traces?type=samples&function=read&"})
      out.push_back(fmt::format("/api/v1/{}{}", target, range));
    out.push_back("/api/v1/status");
    out.push_back("/pyroscope/labels?" + range);
    return out;
  }
  // Of all samples; 0 where there are none yet.
  std::int64_t Total() {
    const std::string body = served_.Get(Targets()[0]).body;
    constexpr std::string_view kTotal = R"("total":)";
    const std::size_t begin = body.find(kTotal);
    EXPECT_NE(begin, std::string::npos) << body;
    std::int64_t total = 0;
    std::from_chars(body.data() + begin + kTotal.size(), body.data() + body.size(), total);
    return total;
  }

  const std::int64_t start_ = (NowUnixNs() / kNsPerSecond - 1800) * kNsPerSecond;
  Served served_{query::Kept::kInMemory};
};

TEST_F(AtOnceTest, QuestionsAreAnsweredWhileProfilesComeIn) {
  served_.data().Write(Request(0));  // without any profile some answers are errors
  std::atomic<bool> done = false;
  std::atomic<std::int64_t> asked = 0;
  constexpr int kPeople = 4;
  std::vector<std::thread> threads;
  threads.reserve(kPeople);
  for (int who = 0; who < kPeople; ++who) {
    threads.emplace_back([&, who] {
      const auto targets = Targets();
      std::int64_t before = 0;
      for (std::size_t i = static_cast<std::size_t>(who) * 4; !done || i < 40; ++i) {
        const std::string& target = targets[i % targets.size()];
        const net::HttpResponse answer = served_.Get(target);
        EXPECT_EQ(answer.status, 200) << target << "\n" << answer.body;
        const std::int64_t total = Total();
        EXPECT_GE(total, before) << "nothing is taken away";
        EXPECT_EQ(total % kEach, 0) << "a request is there whole or not at all";
        before = total;
        ++asked;
      }
    });
  }
  for (std::int64_t i = 1; i < kRequests; ++i) {
    served_.data().Write(Request(i));
    while (asked < 2 * i) std::this_thread::yield();  // questions in between, whatever the machine
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Total(), kRequests * kEach);
  EXPECT_GE(asked, 100);
}

TEST_F(AtOnceTest, WhoeverGoesAwayStopsOnlyItsOwnQuestion) {
  for (int i = 0; i < 5; ++i) served_.data().Write(Request(i));
  const std::string target = Targets()[0];
  const std::size_t mark = target.find('?');
  std::promise<net::HttpResponse> left;
  net::HttpRequest request{.method = "GET",
                           .path = target.substr(0, mark),
                           .query = target.substr(mark + 1),
                           .body = std::make_shared<const std::string>()};
  request.cancel.Cancel();
  served_.http().Handle(request,
                        [&](net::HttpResponse answer) { left.set_value(std::move(answer)); });
  EXPECT_EQ(left.get_future().get().status, 499);
  EXPECT_EQ(Total(), 5 * kEach);
}

}  // namespace
}  // namespace wherefore::api
