// Where a request ends if its sender says so in more than one way.
#include <string>

#include "net/test_http.h"

namespace wherefore::net {
namespace {

using HttpFraming = HttpServerTest;

constexpr std::string_view kHidden = "GET /echo?hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";

// One answer, 400, and the connection is closed: nothing after it is parsed.
void ExpectRefused(const std::string& answer, std::string_view what) {
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400") << what;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << what;
  EXPECT_EQ(answer.find("Date: "), answer.rfind("Date: ")) << what << answer;
  EXPECT_EQ(answer.find("hidden"), std::string::npos) << what << answer;
}

TEST_F(HttpFraming, AnyTransferEncodingButChunkedIsRefusedAndTheConnectionEnds) {
  Start();
  for (const std::string_view coding :
       {"chunked, identity", "identity, chunked", "xchunked", "chunkedx", "identity", "gzip",
        "gzip, chunked", "chunked, gzip", "chunked, chunked", ",chunked", "chunked,", "chunked;q=1",
        "\"chunked\"", "chunked chunked",
        "\x0b"
        "chunked",
        "", ","}) {
    ExpectRefused(Exchange(fmt::format("POST /echo HTTP/1.1\r\nHost: localhost\r\n"
                                       "Transfer-Encoding: {}\r\n\r\n{}",
                                       coding, kHidden)),
                  coding);
  }
}

TEST_F(HttpFraming, LengthsThatCanBeReadInTwoWaysAreRefusedAndTheConnectionEnds) {
  Start();
  for (const std::string_view fields : {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                                        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
                                        "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
                                        "Content-Length: 5\r\nTransfer-Encoding: chunked",
                                        "Transfer-Encoding: chunked\r\nContent-Length: 5",
                                        "Content-Length: 5\r\nTransfer-Encoding: identity",
                                        "Transfer-Encoding: identity\r\nContent-Length: 5",
                                        "Content-Length: 0\r\nTransfer-Encoding: chunked",
                                        "Content-Length: 5\r\nContent-Length: 5",
                                        "Content-Length: 5\r\nContent-Length: 6",
                                        "Content-Length: 5, 5",
                                        "Content-Length: 5,",
                                        "Content-Length: 5 5",
                                        "Content-Length: +5",
                                        "Content-Length: -5",
                                        "Content-Length: 0x5",
                                        "Content-Length: 5.0",
                                        "Content-Length: \"5\"",
                                        "Content-Length:",
                                        "Content-Length: 18446744073709551621",
                                        "Content-Length : 5",
                                        "Transfer-Encoding : chunked",
                                        "Transfer-Encoding:\r\n chunked",
                                        "Transfer-Encoding: chunked\r\n\tx",
                                        "X: y\r\n Content-Length: 5",
                                        "X: y\nContent-Length: 5",
                                        "X: y\rContent-Length: 5",
                                        "Content-Length: 5\n",
                                        "Transfer-Encoding: chunked\n"}) {
    ExpectRefused(Exchange(fmt::format("POST /echo HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n{}",
                                       fields, kHidden)),
                  fields);
  }
}

TEST_F(HttpFraming, ChunksThatCanBeReadInTwoWaysAreRefusedAndTheConnectionEnds) {
  Start();
  for (const std::string_view chunks :
       {"0x5\r\nabcde\r\n0\r\n\r\n", " 5\r\nabcde\r\n0\r\n\r\n", "+5\r\nabcde\r\n0\r\n\r\n",
        "-5\r\nabcde\r\n0\r\n\r\n", "5\nabcde\r\n0\r\n\r\n", "5\rabcde\r\n0\r\n\r\n",
        "5\r\nabcde0\r\n\r\n", "5\r\nabcdefg\r\n0\r\n\r\n", "5\r\nabcde\n0\r\n\r\n",
        "10000000000000005\r\nabcde\r\n0\r\n\r\n", "5;\r\nabcde\r\n0\r\n\r\n",
        "5;a=\"\r\n\"\r\nabcde\r\n0\r\n\r\n", "\r\nabcde\r\n0\r\n\r\n",
        "0\r\nContent-Length: 7\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    ExpectRefused(Exchange(fmt::format("POST /echo HTTP/1.1\r\nHost: localhost\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\n{}{}",
                                       chunks, kHidden)),
                  chunks);
  }
}

TEST_F(HttpFraming, Http10HasNoTransferEncoding) {
  Start();
  ExpectRefused(Exchange(fmt::format("POST /echo HTTP/1.0\r\nHost: localhost\r\nConnection: "
                                     "keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "0\r\n\r\n{}",
                                     kHidden)),
                "HTTP/1.0");
}

TEST_F(HttpFraming, OneHostOnlyEvenWhenTheFirstIsEmpty) {
  Start();
  ExpectRefused(
      Exchange("GET /echo HTTP/1.1\r\nHost:\r\nHost: localhost\r\n\r\n" + std::string(kHidden)),
      "Host");
}

TEST_F(HttpFraming, WhatIsSaidInOneWayIsRead) {
  Start();
  const std::string last =
      "GET /echo?last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (const std::string_view request :
       {"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        "transfer-encoding:\tCHUNKED \r\n\r\n0005;a=b;c=\"d\"\r\nabcde\r\n0\r\nX: y\r\n\r\n",
        "Content-Length: 5\r\n\r\nabcde", "Content-Length:  05\t\r\n\r\nabcde"}) {
    const std::string answer =
        Exchange(fmt::format("POST /echo HTTP/1.1\r\nHost: localhost\r\n{}{}", request, last));
    EXPECT_NE(answer.find("POST /echo [] abcde"), std::string::npos) << request << answer;
    EXPECT_TRUE(answer.ends_with("GET /echo [last] ")) << request << answer;
  }
}

}  // namespace
}  // namespace wherefore::net
