// The HTTP server over real loopback sockets: through our own client, and through a raw socket for
// tests on bytes.
#include <future>
#include <thread>

#include "base/gzip.h"
#include "base/metrics.h"
#include "net/compression.h"
#include "net/http_guard.h"
#include "net/test_http.h"
#include "net/test_tls.h"

namespace wherefore::net {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

TEST_F(HttpServerTest, AnswersOnBothLoopbackAddresses) {
  Start();
  EXPECT_EQ(Fetch("GET", Url("/echo?a=b"))->body, "GET /echo [a=b] ");
  const auto v6 = Fetch("GET", fmt::format("http://[::1]:{}/echo", server_->port()));
  if (v6) {
    EXPECT_EQ(v6->status, 200);
  }
}

TEST_F(HttpServerTest, DecodesEveryContentEncoding) {
  Start();
  EXPECT_EQ(Post("hello").body, "POST /echo [] hello");
  EXPECT_EQ(Post(Gzip("hello"), {{"Content-Encoding", "gzip"}}).body, "POST /echo [] hello");
  EXPECT_EQ(Post(Zstd("hello"), {{"Content-Encoding", "zstd"}}).body, "POST /echo [] hello");
  EXPECT_EQ(Post("hello", {{"Content-Encoding", "identity"}}).body, "POST /echo [] hello");
  EXPECT_EQ(Post("", {{"Content-Encoding", "gzip"}}).body, "POST /echo [] ");
  EXPECT_EQ(Post("hello", {{"Content-Encoding", "br"}}).status, 415);
  const ClientResponse damaged = Post("hello", {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(damaged.status, 400);
  EXPECT_NE(damaged.body.find("gzip"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesBodiesOverTheLimitBeforeAndAfterDecompression) {
  HttpServerOptions options;
  options.max_body_bytes = 100'000;
  Start(std::move(options));
  EXPECT_EQ(Post(std::string(100'000, 'x')).status, 200);
  EXPECT_EQ(Post(std::string(100'001, 'x')).status, 413);
  EXPECT_EQ(Post(std::string(20'000'000, 'x')).status, 413) << "while the client is still sending";
  EXPECT_EQ(Post(Gzip(std::string(100'000, 'x')), {{"Content-Encoding", "gzip"}}).status, 200);
  const ClientResponse bomb =
      Post(Gzip(std::string(50'000'000, 'x')), {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(bomb.status, 413);
  EXPECT_FALSE(bomb.headers.contains("Retry-After"));
  const std::string chunked = Exchange(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n186A1\r\n" +
      std::string(100'001, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.substr(0, 12), "HTTP/1.1 413");
}

TEST_F(HttpServerTest, ReadsChunkedBodies) {
  Start();
  const std::string answer = Exchange(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: "
      "close\r\n\r\n"
      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("POST /echo [] abcde")) << answer;
}

TEST_F(HttpServerTest, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  Start();
  RawClient client(server_->port());
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests += fmt::format("GET /echo?n{} HTTP/1.1\r\nHost: localhost\r\n\r\n", i);
  }
  client.Send(requests);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(client.ReadUntil("] ").find(fmt::format("[n{}]", i)), std::string::npos) << i;
  }
  client.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nxy");
  EXPECT_TRUE(client.ReadUntil("xy").ends_with("POST /echo [] xy"));
}

TEST_F(HttpServerTest, AByteAtATimeIsFine) {
  Start();
  RawClient client(server_->port());
  for (const char c :
       std::string_view("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")) {
    client.Send({&c, 1});
  }
  EXPECT_TRUE(client.ReadUntil("abc").ends_with("POST /echo [] abc"));
}

TEST_F(HttpServerTest, SaysContinueWhenAskedAndRefusesBeforeTheBodyWhenNot) {
  HttpServerOptions options;
  options.max_body_bytes = 1000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_TRUE(client.ReadUntil("] ok").ends_with("] ok"));
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n").substr(0, 12), "HTTP/1.1 413");
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  Start();
  const auto status = [&](std::string_view bytes) {
    RawClient client(server_->port());
    client.Send(bytes);
    return client.ReadUntil("\r\n").substr(0, 12);
  };
  EXPECT_EQ(status("hello\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET /echo HTTP/1.1\r\n\r\n"), "HTTP/1.1 400") << "no Host";
  EXPECT_EQ(status("GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET /echo HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"), "HTTP/1.1 400");
  const std::string long_field = "X: " + std::string(40'000, 'x');
  EXPECT_EQ(status("GET /echo HTTP/1.1\r\nHost: localhost\r\n" + long_field + "\r\n\r\n"),
            "HTTP/1.1 431");
  EXPECT_EQ(
      status("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
      "HTTP/1.1 400");
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                   "Content-Length: 3\r\n\r\nabc"),
            "HTTP/1.1 400")
      << "two lengths: whose request would the rest be?";
}

TEST_F(HttpServerTest, HeadHasEverythingButTheBody) {
  Start();
  const auto response = Fetch("HEAD", Url("/echo"));
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.at("Content-Length"), "14");
  EXPECT_EQ(response->body, "");
}

TEST_F(HttpServerTest, CompressesBigAnswersForThoseWhoTakeThem) {
  Start();
  const std::string big(20'000, 'x');
  const ClientResponse packed = Post(big);
  EXPECT_EQ(packed.headers.at("Content-Encoding"), "gzip");
  EXPECT_LT(packed.headers.at("Content-Length").size(), 4u);
  EXPECT_EQ(packed.body, "POST /echo [] " + big);
  const ClientResponse plain = Post(big, {{"Accept-Encoding", "gzip;q=0, br"}});
  EXPECT_FALSE(plain.headers.contains("Content-Encoding"));
  EXPECT_EQ(plain.body, "POST /echo [] " + big);
  EXPECT_FALSE(Post("small").headers.contains("Content-Encoding"));
}

TEST_F(HttpServerTest, ASlowRequestGets408AndAnIdleConnectionIsClosed) {
  HttpServerOptions options;
  options.read_timeout_seconds = 1;
  options.idle_timeout_seconds = 1;
  Start(std::move(options));
  EXPECT_EQ(Exchange("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")
                .substr(0, 12),
            "HTTP/1.1 408");
  EXPECT_EQ(Exchange("POST /ec").substr(0, 12), "HTTP/1.1 408");
  EXPECT_EQ(Exchange(""), "");
}

TEST_F(HttpServerTest, AClientThatGoesAwayCancelsItsRequest) {
  std::promise<CancelToken> got;
  std::promise<Respond> later;
  router_->Add("GET", "/wait", [&](const HttpRequest& request, Respond respond) {
    later.set_value(std::move(respond));
    got.set_value(request.cancel);
  });
  Start();
  RawClient client(server_->port());
  client.Send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const CancelToken token = got.get_future().get();
  EXPECT_FALSE(token.cancelled());
  std::promise<void> cancelled;
  const auto guard = token.OnCancel([&] { cancelled.set_value(); });
  client.Close();
  EXPECT_EQ(cancelled.get_future().wait_for(seconds(10)), std::future_status::ready);
  later.get_future().get()({});  // the client is gone: must do no harm
}

TEST_F(HttpServerTest, AnswersFromAnotherThreadEvenToAClientThatEndedItsSide) {
  std::vector<std::jthread> threads;
  router_->Add("GET", "/later", [&](const HttpRequest&, Respond respond) {
    threads.emplace_back([r = std::move(respond)] {
      HttpResponse response;
      response.body = "later";
      r(std::move(response));
    });
  });
  Start();
  EXPECT_EQ(Fetch("GET", Url("/later"))->body, "later");
  RawClient client(server_->port());
  client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.EndSending();
  EXPECT_TRUE(client.ReadAll().ends_with("later"));
}

TEST_F(HttpServerTest, AHandlerThatForgetsOrThrowsGives500) {
  router_->Add("GET", "/forget", [](const HttpRequest&, const Respond&) {});
  router_->Add("GET", "/throw", [](const HttpRequest&, const Respond&) {
    throw std::runtime_error("from a library");
  });
  Start();
  EXPECT_EQ(Fetch("GET", Url("/forget"))->status, 500);
  EXPECT_EQ(Fetch("GET", Url("/throw"))->status, 500);
}

TEST_F(HttpServerTest, APageFromAnotherOriginCanNeitherPostNorRead) {
  HttpServerOptions options;
  options.allowed_hosts = {"Wherefore.Example"};
  Start(std::move(options));
  const std::string self = fmt::format("127.0.0.1:{}", server_->port());
  EXPECT_EQ(Post("x", {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(Post("x", {{"Origin", "null"}}).status, 403);
  EXPECT_EQ(Post("x", {{"Origin", "http://127.0.0.1:1"}}).status, 403)
      << "another port is another origin";
  EXPECT_EQ(Post("x", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}).status,
            403);
  const ClientResponse own = Post("x", {{"Origin", "http://" + self}});
  EXPECT_EQ(own.status, 200);
  for (const auto& [name, value] : own.headers) {
    EXPECT_FALSE(HeaderLess()("access-control", name) && HeaderLess()(name, "access-controm"))
        << name;
  }
  const auto with_host = [&](std::string_view host) {
    return Exchange(
               fmt::format("GET /echo HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host))
        .substr(9, 3);
  };
  EXPECT_EQ(with_host("evil.example"), "403") << "a name that was made to resolve to loopback";
  EXPECT_EQ(with_host("127.0.0.1.evil.example"), "403");
  EXPECT_EQ(with_host("localhost:1"), "200");
  EXPECT_EQ(with_host("[::1]:1"), "200");
  EXPECT_EQ(with_host("wherefore.example"), "200");
  EXPECT_EQ(with_host(MachineName()), "200");
}

TEST_F(HttpServerTest, WantsTheTokenForAllButReady) {
  HttpServerOptions options;
  options.bearer_token = "secret";
  Start(std::move(options));
  EXPECT_EQ(Post("x").status, 401);
  EXPECT_EQ(Post("x").headers.at("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(Post("x", {{"Authorization", "Bearer secre"}}).status, 401);
  EXPECT_EQ(Post("x", {{"Authorization", "Bearer secretsecret"}}).status, 401);
  EXPECT_EQ(Post("x", {{"Authorization", "Bearer secret"}}).status, 200);
  EXPECT_EQ(Fetch("GET", Url("/ready"))->status, 200);
}

TEST_F(HttpServerTest, TooManyBytesAtOnceGet429UntilTheyAreAnswered) {
  std::promise<Respond> later;
  router_->Add("POST", "/hold",
               [&](const HttpRequest&, const Respond& respond) { later.set_value(respond); });
  HttpServerOptions options;
  options.max_inflight_bytes = 150'000;
  Start(std::move(options));
  const std::string body(100'000, 'x');
  std::future<int> first =
      std::async(std::launch::async, [&] { return Fetch("POST", Url("/hold"), body)->status; });
  const Respond respond = later.get_future().get();
  const ClientResponse refused = Post(body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  EXPECT_EQ(Post("small").status, 200);
  respond({});
  EXPECT_EQ(first.get(), 200);
  EXPECT_EQ(Post(body).status, 200);
}

TEST_F(HttpServerTest, APortInUseIsNamed) {
  Start();
  HttpServerOptions options;
  options.port = server_->port();
  HttpServer second(io_, options, router_);
  const auto started = second.Start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find(fmt::format("port {}", options.port)),
            std::string::npos);
  EXPECT_NE(started.error().message().find("ss -ltnp"), std::string::npos);
}

TEST_F(HttpServerTest, AnAddressThatIsNoneIsAnError) {
  HttpServerOptions options;
  options.addresses = {"localhost"};
  EXPECT_FALSE(HttpServer(io_, options, router_).Start());
  options.addresses = {"203.0.113.9"};  // documentation range: no machine has it
  EXPECT_FALSE(HttpServer(io_, options, router_).Start());
}

TEST_F(HttpServerTest, StopFinishesRunningRequestsAndClosesIdleConnections) {
  std::promise<Respond> later;
  router_->Add("GET", "/hold",
               [&](const HttpRequest&, const Respond& respond) { later.set_value(respond); });
  Start();
  RawClient idle(server_->port());
  idle.Send("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  idle.ReadUntil("] ");
  RawClient busy(server_->port());
  busy.Send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Respond respond = later.get_future().get();
  std::future<void> stopped = std::async(std::launch::async, [&] { server_->Stop(20); });
  EXPECT_EQ(idle.ReadAll(), "");
  HttpResponse response;
  response.body = "done";
  respond(response);
  EXPECT_TRUE(busy.ReadAll().ends_with("done"));
  EXPECT_EQ(stopped.wait_for(seconds(10)), std::future_status::ready);
  EXPECT_FALSE(Fetch("GET", Url("/echo")));
}

TEST_F(HttpServerTest, StopCutsOffWhatOutlivesTheGrace) {
  std::promise<std::pair<CancelToken, Respond>> later;
  router_->Add("GET", "/hold", [&](const HttpRequest& request, Respond respond) {
    later.set_value({request.cancel, std::move(respond)});
  });
  Start();
  RawClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto held = later.get_future().get();
  const auto before = steady_clock::now();
  server_->Stop(0);
  EXPECT_LT(steady_clock::now() - before, seconds(3));
  EXPECT_TRUE(held.first.cancelled());
  server_.reset();
  held.second({});
}

TEST_F(HttpServerTest, CountsAnswersByCode) {
  Start();
  static_cast<void>(Post("x"));
  static_cast<void>(Fetch("GET", Url("/nowhere")));
  server_->Stop(5);
  const std::string text = Metrics::Global().PrometheusText();
  const auto line = [&](int code) {
    return fmt::format("wherefore_http_requests_total{{port=\"{}\",code=\"{}\"}} 1\n",
                       server_->port(), code);
  };
  EXPECT_NE(text.find(line(200)), std::string::npos);
  EXPECT_NE(text.find(line(404)), std::string::npos);
}

TEST_F(HttpServerTest, SpeaksTls) {
  const TestCertificate certificate;
  HttpServerOptions options;
  options.tls_certificate_file = certificate.certificate_file();
  options.tls_key_file = certificate.key_file();
  Start(std::move(options));
  ClientOptions client;
  client.tls_ca_file = certificate.certificate_file();
  const std::string url = fmt::format("https://127.0.0.1:{}/echo", server_->port());
  const std::string big(3'000'000, 'x');
  const auto response = Fetch("POST", url, big, "text/plain", client);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "POST /echo [] " + big);
  EXPECT_FALSE(Fetch("POST", url, "x")) << "a certificate nobody trusts";
  EXPECT_FALSE(Fetch("GET", Url("/echo"))) << "plain HTTP to a TLS port";
  options = {};
  options.tls_certificate_file = certificate.certificate_file();
  EXPECT_FALSE(HttpServer(io_, options, router_).Start()) << "a certificate without its key";
}

TEST_F(HttpServerTest, ManyConnectionsAtOnceAllGetTheirAnswers) {
  Start();
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const std::string body = fmt::format("{}-{}", t, i);
          if (Post(body).body == "POST /echo [] " + body) ++good;
        }
      });
    }
  }
  EXPECT_EQ(good, 400);
}

TEST(HttpClient, SaysWhatToCheckWhenNobodyListens) {
  IoThreads io(1);
  std::uint16_t port = 0;
  {
    HttpServer server(io, {}, std::make_shared<Router>());
    ASSERT_TRUE(server.Start());
    port = server.port();
  }
  const std::string base = fmt::format("http://127.0.0.1:{}", port);
  const auto response = Fetch("GET", base + "/api");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message(),
            fmt::format("cannot connect to {}: connection refused", base));
}

TEST(HttpClient, GivesUpAtItsDeadline) {
  IoThreads io(1);
  std::promise<Respond> later;
  auto router = std::make_shared<Router>();
  router->Add("GET", "/hold",
              [&](const HttpRequest&, const Respond& respond) { later.set_value(respond); });
  HttpServer server(io, {}, router);
  ASSERT_TRUE(server.Start());
  ClientOptions options;
  options.timeout_seconds = 1;
  const auto response =
      Fetch("GET", fmt::format("http://127.0.0.1:{}/hold", server.port()), {}, {}, options);
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().message().find("no answer within 1 s"), std::string::npos);
}

TEST(HttpClient, RefusesHeadersWithLineBreaks) {
  ClientOptions options;
  options.headers = {{"X", "a\r\nEvil: b"}};
  EXPECT_FALSE(Fetch("GET", "http://127.0.0.1:1/", {}, {}, options));
}

TEST_F(HttpServerTest, AHandlerWithoutMemoryCostsItsRequestAlone) {
  router_->Add("GET", "/short", [](const HttpRequest&, const Respond&) { throw std::bad_alloc(); });
  Start();
  RawClient client(server_->port());
  client.Send("GET /short HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.ReadUntil("(serve --memory)\"}}");
  EXPECT_NE(answer.find("HTTP/1.1 503"), std::string::npos) << answer;
  EXPECT_NE(answer.find("out of memory for now"), std::string::npos) << answer;
  client.Send("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(client.ReadUntil("GET /echo []").find("HTTP/1.1 200"), std::string::npos);
}

}  // namespace
}  // namespace wherefore::net
