// The client where the server's tests are not enough: lookups without an answer, trusted
// certificates.
#include "net/http_client.h"

#include <stdlib.h>

#include <future>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/name_lookup.h"
#include "base/test_resolver.h"
#include "net/test_tls.h"

namespace wherefore::net {
namespace {

class HttpClientTest : public testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    auto router = std::make_shared<Router>();
    router->Add("GET", "/hello", [](HttpRequest, Respond respond) {
      HttpResponse response;
      response.body = "hello";
      respond(std::move(response));
    });
    options.addresses = {"127.0.0.1"};
    options.port = 0;
    options.allowed_hosts = {"some.slow"};
    server_ = std::make_unique<HttpServer>(io_, std::move(options), router);
    ASSERT_TRUE(server_->Start());
  }
  [[nodiscard]] std::string Url(const std::string& scheme, const std::string& host) const {
    return fmt::format("{}://{}:{}/hello", scheme, host, server_->port());
  }

  IoThreads io_{1};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpClientTest, ANameThatIsNotAnsweredEndsWithTheTimeout) {
  Start();
  std::unique_lock silence(slow_names);
  const std::int64_t begin = MonotonicNs();
  const auto response = Fetch("GET", Url("http", "some.slow"), {}, {}, {.timeout_seconds = 1});
  EXPECT_LT(MonotonicNs() - begin, 2 * kNsPerSecond);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message(),
            fmt::format("cannot find the host of http://some.slow:{}: no answer within 1 s",
                        server_->port()));
  silence.unlock();
  const auto later = Fetch("GET", Url("http", "some.slow"), {}, {}, {.timeout_seconds = 10});
  ASSERT_TRUE(later) << later.error().message();
  EXPECT_EQ(later->body, "hello");
}

TEST_F(HttpClientTest, TheDeadlineOfAKeptClientIncludesTheLookup) {
  Start();
  const auto client = HttpClient::Make({});
  ASSERT_TRUE(client);
  const std::string url = Url("http", "some.slow");
  HttpClient::Request request{.method = "GET", .url = url, .timeout_ns = kNsPerSecond / 2};
  {
    const std::unique_lock silence(slow_names);
    const std::int64_t begin = MonotonicNs();
    const auto response = (*client)->Send(request);
    EXPECT_LT(MonotonicNs() - begin, 2 * kNsPerSecond);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().message(),
              fmt::format("cannot find the host of http://some.slow:{}: no answer within 0.5 s",
                          server_->port()));
  }
  request.timeout_ns = 10 * kNsPerSecond;
  const auto later = (*client)->Send(request);
  ASSERT_TRUE(later) << later.error().message();
  EXPECT_EQ(later->body, "hello");
}

TEST_F(HttpClientTest, ANameThatIsNotAnsweredCanBeCancelled) {
  Start();
  const std::unique_lock silence(slow_names);
  ClientOptions options{.timeout_seconds = 60};
  const std::jthread canceller([cancel = options.cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel.Cancel();
  });
  const std::int64_t begin = MonotonicNs();
  const auto response = Fetch("GET", Url("http", "some.slow"), {}, {}, options);
  EXPECT_LT(MonotonicNs() - begin, 10 * kNsPerSecond);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kCancelled);
}

TEST_F(HttpClientTest, ManyNamesThatAreNotAnsweredDoNotPileUp) {
  Start();
  std::unique_lock silence(slow_names);
  const auto ask = [&] {
    return Fetch("GET", Url("http", "some.slow"), {}, {}, {.timeout_seconds = 1});
  };
  std::vector<std::future<Result<ClientResponse>>> waiting;
  for (int i = 0; i < kMaxAbandonedLookups; ++i)
    waiting.push_back(std::async(std::launch::async, ask));
  for (auto& one : waiting) EXPECT_FALSE(one.get());
  const std::int64_t begin = MonotonicNs();
  const auto refused = ask();
  EXPECT_LT(MonotonicNs() - begin, kNsPerSecond / 2);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().ends_with("the system's resolver does not answer"));
  EXPECT_TRUE(Fetch("GET", Url("http", "127.0.0.1"))) << "a number needs no resolver";
  silence.unlock();
  const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
  while (!ask()) ASSERT_LT(MonotonicNs(), end) << "those that were left behind have gone";
}

TEST_F(HttpClientTest, ACertificateFileIsTrustedInsteadOfTheSystems) {
  const TestCertificate ours;
  const TestCertificate another;
  // The certificates this machine trusts, as OpenSSL finds them.
  setenv("SSL_CERT_FILE", ours.certificate_file().c_str(), 1);
  Start({.tls_certificate_file = ours.certificate_file(), .tls_key_file = ours.key_file()});
  const std::string url = Url("https", "127.0.0.1");
  const auto by_system = Fetch("GET", url);
  EXPECT_TRUE(by_system) << by_system.error().message();
  EXPECT_TRUE(Fetch("GET", url, {}, {}, {.tls_ca_file = ours.certificate_file()}));
  EXPECT_FALSE(Fetch("GET", url, {}, {}, {.tls_ca_file = another.certificate_file()}));
  EXPECT_FALSE(Fetch("GET", url, {}, {}, {.tls_ca_file = "/no/such/file"}));
  unsetenv("SSL_CERT_FILE");
}

}  // namespace
}  // namespace wherefore::net
