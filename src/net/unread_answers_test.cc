// Answers that nobody reads: how much memory they may hold, and for how long.
#include "net/unread_answers.h"

#include <thread>

#include "base/memory_budget.h"
#include "net/test_http.h"

namespace wherefore::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kMb = 1u << 20;

TEST(UnreadAnswersTest, LargeOnesAreLimitedAndSmallOnesGoOn) {
  const auto answers = std::make_shared<UnreadAnswers>(10 * kMb);
  const std::size_t before = MemoryBudget::Process().held();
  auto first = answers->Hold(8 * kMb);
  ASSERT_TRUE(first);
  EXPECT_EQ(MemoryBudget::Process().held() - before, 8 * kMb);
  EXPECT_FALSE(answers->Hold(3 * kMb));
  std::vector<std::shared_ptr<const void>> small;
  for (int i = 0; i < 100; ++i) {
    small.push_back(answers->Hold(UnreadAnswers::kSmall));
    ASSERT_TRUE(small.back());
  }
  for (int i = 0; i < 200; ++i) small.push_back(answers->Hold(UnreadAnswers::kSmall));
  EXPECT_FALSE(small.back()) << "twice the limit is the end of it";
  EXPECT_LE(answers->held(), 20 * kMb);
  first.reset();
  small.clear();
  EXPECT_EQ(answers->held(), 0U);
  EXPECT_EQ(MemoryBudget::Process().held(), before);
  EXPECT_TRUE(answers->Hold(50 * kMb)) << "alone even a very large one is given";
}

class Unread : public HttpServerTest {
 protected:
  static constexpr std::size_t kLarge = 24 * kMb;  // more than sockets hold

  Unread() {
    router_->Add("GET", "/large", [](const HttpRequest&, const Respond& respond) {
      respond({.content_type = "text/plain", .body = std::string(kLarge, 'x')});
    });
  }
  void StartWith(int window_seconds, std::size_t most) {
    HttpServerOptions options;
    options.answer_window_seconds = window_seconds;
    options.unread_answers = answers_ = std::make_shared<UnreadAnswers>(most);
    Start(std::move(options));
  }
  [[nodiscard]] std::unique_ptr<RawClient> AskForMuch() const {
    auto client = std::make_unique<RawClient>(server_->port(), 64 << 10);
    client->Send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client;
  }
  // Waits until `holds` is true, for at most 20 s.
  template <typename F>
  static bool Soon(F holds) {
    const auto deadline = steady_clock::now() + seconds(20);
    while (!holds()) {
      if (steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }

  std::shared_ptr<UnreadAnswers> answers_;
};

TEST_F(Unread, WhoDoesNotReadIsCutAndKeepsNobodyFromBeingAnswered) {
  StartWith(2, 3 * kLarge);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(AskForMuch());
  ASSERT_TRUE(Soon([&] { return answers_->held() == 3 * kLarge; })) << answers_->held();
  const auto refused = AskForMuch();
  const std::string answer = refused->ReadUntil("try again");
  EXPECT_NE(answer.find("HTTP/1.1 503"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos) << answer;
  EXPECT_NE(answer.find("too many answers are waiting to be read"), std::string::npos) << answer;
  EXPECT_EQ(Post("small").body, "POST /echo [] small");
  EXPECT_TRUE(Soon([&] { return answers_->held() == 0; })) << "they are cut";
  const auto again = Fetch("GET", Url("/large"), "", "");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->body.size(), kLarge);
}

TEST_F(Unread, WhoReadsSlowlyAndSteadilyGetsEverything) {
  StartWith(1, kLarge);
  const auto client = AskForMuch();
  const auto start = steady_clock::now();
  std::size_t read = 0;
  while (read < kLarge) {
    const std::size_t n = client->Read(64u << 10);
    ASSERT_GT(n, 0U) << "cut after " << read;
    read += n;
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_GT(steady_clock::now() - start, seconds(2)) << "several windows";
}

}  // namespace
}  // namespace wherefore::net
