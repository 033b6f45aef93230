#include "cli/mcp/session.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace wherefore::cli {
namespace {

constexpr const char* kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

// A session before a server that answers with `body`.
class Mcp : public testing::Test {
 protected:
  // What it says to these lines, in the order in which it says it.
  std::vector<std::string> Say(const std::vector<std::string>& lines) {
    std::vector<std::string> out;
    {
      McpSession session(
          "1.2.3",
          [this](const std::string& path, const ToolParameters& parameters,
                 const CancelToken& cancel) -> Result<Answer> {
            asked_.push_back(path);
            for (const auto& [name, value] : parameters) asked_.push_back(name + "=" + value);
            while (wait_ && !cancel.cancelled())
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            WHEREFORE_RETURN_IF_ERROR(cancel.Check());
            return Answer{.body = body_, .incomplete = incomplete_};
          },
          [&](std::string_view line) { out.emplace_back(line); });
      for (const std::string& line : lines) session.Take(line);
    }
    return out;
  }
  std::string One(const std::string& line) {
    const auto out = Say({line});
    return out.size() == 1 ? out[0] : std::to_string(out.size()) + " answers";
  }
  static std::string Request(const std::string& method, const std::string& parameters = "") {
    return R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":{)" + parameters +
           (parameters.empty() ? "" : ",") + kMeta + "}}";
  }
  static std::string Calling(const std::string& tool, const std::string& arguments) {
    return Request("tools/call", R"("name":")" + tool + R"(","arguments":)" + arguments);
  }
  static void ExpectHas(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  }

  std::string body_ = R"({"rows":[{"name":"parse"}]})";
  std::string incomplete_;
  bool wait_ = false;
  std::vector<std::string> asked_;
};

TEST_F(Mcp, WithoutAHandshakeEveryRequestSaysItsVersion) {
  ExpectHas(One(Request("server/discover")),
            R"("resultType":"complete","supportedVersions":["2026-07-28",)");
  ExpectHas(One(Request("server/discover")),
            R"("io.modelcontextprotocol/serverInfo":{"name":"wherefore","version":"1.2.3"})");
  ExpectHas(One(Request("tools/list")),
            R"("ttlMs":3600000,"cacheScope":"public","tools":[{"name":"list_services",)");
  ExpectHas(One(R"({"jsonrpc":"2.0","id":"a","method":"tools/list"})"),
            R"("id":"a","error":{"code":-32602,)");
  const std::string other = One(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}})");
  ExpectHas(other, R"("code":-32022)");
  ExpectHas(other, R"("requested":"2031-01-01")");
  ExpectHas(
      One(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"),
      "clientCapabilities");
}

TEST_F(Mcp, WithAHandshakeTheVersionIsAgreedOnce) {
  const auto said = Say(
      {R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}})",
       R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
       R"({"jsonrpc":"2.0","id":1,"method":"ping"})",
       R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"});
  ASSERT_EQ(said.size(), 3u);
  ExpectHas(said[0], R"("protocolVersion":"2025-06-18","capabilities":{"tools":{}})");
  EXPECT_EQ(said[1], R"({"jsonrpc":"2.0","id":1,"result":{}})");
  ExpectHas(said[2], R"("result":{"tools":[)");
  ExpectHas(
      One(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1999-01-01"}})"),
      R"("protocolVersion":"2025-11-25")");
}

TEST_F(Mcp, WhatIsNoRequestIsRefusedByName) {
  ExpectHas(One("{nonsense"), R"("id":null,"error":{"code":-32700)");
  ExpectHas(One(R"({"id":1,"method":"ping"})"), "-32600");
  ExpectHas(One(R"({"jsonrpc":"2.0","id":{},"method":"ping"})"), "-32600");
  ExpectHas(One("[]"), "-32600");
  ExpectHas(One("17"), "-32600");
  ExpectHas(One(Request("resources/list")),
            R"("code":-32601,"message":"no method 'resources/list'")");
  EXPECT_TRUE(Say({"", R"({"jsonrpc":"2.0","method":"notifications/whatever"})",
                   R"({"jsonrpc":"2.0","id":1,"result":{}})"})
                  .empty());
}

TEST_F(Mcp, AToolAnswersInBothForms) {
  const std::string said =
      One(Calling("top_functions", R"({"query":"shop","limit":3,"own":true})"));
  ExpectHas(
      said,
      R"("resultType":"complete","content":[{"type":"text","text":"{\"rows\":[{\"name\":\"parse\"}]}"}])");
  ExpectHas(said, R"("structuredContent":{"rows":[{"name":"parse"}]},"isError":false)");
  EXPECT_EQ(asked_,
            (std::vector<std::string>{"/api/v1/top", "query=shop", "limit=3", "own=default"}));
  incomplete_ = "a day of shop is missing";
  ExpectHas(One(Calling("top_functions", "{}")),
            R"("incomplete":"a day of shop is missing"},"isError")");
}

TEST_F(Mcp, WrongArgumentsAreTheToolsErrorsAnUnknownToolTheProtocols) {
  ExpectHas(One(Calling("nothing", "{}")), R"("code":-32602,"message":"no tool 'nothing'")");
  ExpectHas(One(Calling("explain_trace", "{}")), "argument 'trace' is missing");
  ExpectHas(One(Calling("explain_trace", "{}")), R"("isError":true)");
  ExpectHas(One(Calling("top_functions", R"({"limit":"many"})")),
            "argument 'limit': expected integer");
  ExpectHas(One(Calling("find_traces", R"({"attribute":"a=b"})")), "expected an array of strings");
  ExpectHas(One(Calling("top_functions", R"({"querry":"shop"})")),
            "no argument 'querry'; top_functions has query, type");
  ExpectHas(One(Calling("accounting", R"({"trace":"../../delete"})")), "expected 32 hex digits");
  body_ = "<html>";
  ExpectHas(One(Calling("top_functions", "{}")), "the server's answer is damaged");
}

TEST_F(Mcp, LongAnswersAreCutAndSaySo) {
  body_ = R"({"rows":[)";
  for (int i = 0; i < 3000; ++i)
    body_ +=
        (i == 0 ? "" : ",") + std::string(R"({"name":"f\"\\\u0007)") + std::to_string(i) + R"("})";
  body_ += R"(],"text":")" + std::string(50'000, 'x') + R"(","total":"18446744073709551615"})";
  const std::string said = One(Calling("top_functions", "{}"));
  EXPECT_LE(said.size(), kMostToolBytes);
  EXPECT_GT(said.size(), kMostToolBytes / 3);
  ExpectHas(said, " of 3000\"");
  ExpectHas(said, "text: texts behind their first");
  ExpectHas(said, R"("total":"18446744073709551615")");
  // A wall of different lists still fits.
  body_ = "{";
  for (int i = 0; i < 3000; ++i) body_ += "\"list" + std::to_string(i) + R"(":[1,2,3],)";
  body_ += R"("end":1})";
  EXPECT_LE(One(Calling("top_functions", "{}")).size(), kMostToolBytes);
}

TEST_F(Mcp, FramesAreRowsWithTotals) {
  body_ = R"({"type":"cpu","unit":"nanoseconds","scale":1,"count":95,"nodes_in_full":4,)"
          R"("functions":[["total","","",0,0],["main","","",0,0],["send","","",0,0]],)"
          R"("depth":[0,1,2],"function":[0,1,2],"self":[0,5,7]})";
  ExpectHas(One(Calling("flame_graph", "{}")),
            R"("frames":[[0,"total",12,0],[1,"main",12,5],[2,"send",7,7]]})");
  body_ = R"({"functions":[],"depth":[3],"function":[0],"self":[0]})";
  ExpectHas(One(Calling("flame_graph", "{}")), "damaged");
}

TEST_F(Mcp, ACancelledCallEndsWithoutAnAnswer) {
  wait_ = true;
  const auto said = Say(
      {Calling("top_functions", "{}"),
       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})",
       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}})"});
  EXPECT_TRUE(said.empty());
}

}  // namespace
}  // namespace wherefore::cli
