// Every query of the API over known data: once as it is meant, once with bad arguments.
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "api/test_api.h"
#include "base/clock.h"
#include "base/text.h"

namespace wherefore::api {
namespace {

using query::BatchBuilder;

constexpr const char* kProfile = "aabbccddeeff00112233445566778899";
constexpr const char* kRoot = "0100000000000000";

// One route. Words in capitals stand for times and ids (Filled).
struct Asked {
  std::string route;                // as the router has it
  std::string good;                 // target, and behind a blank the body of a POST
  std::vector<std::string> answer;  // must be in it
  std::string bad;                  // the same, wrong; empty: nothing can be wrong with it
  int status = 400;                 // of the bad one
  std::string problem;              // must be said
};

class QueriesTest : public testing::TestWithParam<query::Kept> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(served_.data().is_open());
    const auto at = [&](std::int64_t ms) {
      return static_cast<std::uint64_t>(start_ + ms * 1'000'000);
    };
    BatchBuilder batch;
    batch.Add({.resource = {{"pod", "a"}}, .time_ns = start_, .id = kProfile},
              {{{"parse", "main"}, 5, query::kTrace, kRoot},
               {{"write", "main"}, 2, "", "", {}, {{"thread", "two"}}},
               {{"read", "main"}, 2, "", "", {at(5), at(505)}}});
    batch.Add({.resource = {{"pod", "b"}}, .time_ns = start_ + 60 * kNsPerSecond},
              {{{"parse", "main"}, 3}});
    for (const std::int64_t i : {0, 1}) {
      batch.Add({.resource = {{"pod", "a"}},
                 .time_ns = start_ + i * 60 * kNsPerSecond,
                 .duration_ns = 60'000'000'000,
                 .type = "inuse_space",
                 .unit = "bytes"},
                {{{"keep", "main"}, 1000 + 2000 * i}});
    }
    batch.Add({.service = "db", .time_ns = start_}, {{{"lookup"}, 4}});
    served_.data().Write(batch.Request("profiles"));
    served_.data().Write(query::SpanRequest(start_));
    served_.data().Flush();
    std::ofstream(served_.sources() / "parse.cc") << "int parse();\n";
  }
  [[nodiscard]] std::string Filled(std::string text) const {
    const std::pair<std::string, std::string> words[] = {
        {"RANGE", "from=FROM&to=TO"},
        {"FROM", fmt::format("{}", start_ / 1'000'000)},
        {"TO", fmt::format("{}", start_ / 1'000'000 + 120'000)},
        {"STARTNS", fmt::format("{}", start_ + 1)},
        {"STARTUS", fmt::format("{}", start_ / 1000)},
        {"TRACE", query::kTrace},
        {"ROOT", kRoot},
        {"PROFILE", kProfile},
        {"CPU", "process_cpu:samples:count:cpu:nanoseconds"}};
    for (const auto& [word, meaning] : words) {
      for (std::size_t found = 0; (found = text.find(word)) != std::string::npos;)
        text.replace(found, word.size(), meaning);
    }
    return text;
  }
  net::HttpResponse Ask(const std::string& route, const std::string& asked) {
    const std::string text = Filled(asked);
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string body = text.substr(std::min(blank + 1, text.size()));
    return served_
        .Ask(text.substr(0, blank), route.substr(0, route.find(' ')), body,
             {{"Content-Type", "application/json"}})
        .get();
  }
  void Check(const Asked& asked) {
    const net::HttpResponse good = Ask(asked.route, asked.good);
    EXPECT_EQ(good.status, 200) << asked.good << "\n" << good.body;
    for (const std::string& part : asked.answer)
      EXPECT_NE(good.body.find(Filled(part)), std::string::npos)
          << asked.good << "\nmust have " << Filled(part) << "\n"
          << good.body;
    if (asked.bad.empty()) return;
    const net::HttpResponse bad = Ask(asked.route, asked.bad);
    EXPECT_EQ(bad.status, asked.status) << asked.bad << "\n" << bad.body;
    EXPECT_NE(bad.body.find(asked.problem), std::string::npos) << asked.bad << "\n" << bad.body;
  }

  const std::int64_t start_ =
      (NowUnixNs() - 1800 * kNsPerSecond) / (600 * kNsPerSecond) * (600 * kNsPerSecond);
  Served served_{GetParam()};
};

const std::vector<Asked> kOurs = {
    {"GET /api/v1/services",
     "/api/v1/services?RANGE",
     {R"("total":2)", R"({"name":"db","profiles":1,)", R"({"name":"shop","profiles":4,)",
      R"({"name":"inuse_space","id":)"},
     "/api/v1/services?from=never",
     400,
     "'from'"},
    {"GET /api/v1/labels",
     "/api/v1/labels?RANGE",
     {R"({"total":3,"labels":["pod","service.name","thread"]})"},
     "/api/v1/labels?wrong=1",
     400,
     "parameter 'wrong': not known here"},
    {"GET /api/v1/labels/{name}/values",
     "/api/v1/labels/pod/values?RANGE",
     {R"({"total":2,"values":["a","b"]})"},
     "/api/v1/labels/pod/values?limit=0",
     400,
     "'limit'"},
    {"GET /api/v1/flame",
     "/api/v1/flame?RANGE&query=shop&type=samples&observed=true&search=parse",
     {R"("total":12,"count":)", R"("averaged":false)", R"("observed_ms":20000)",
      R"("search":{"value":8,"count":8,"functions":1,"nodes":1})", R"("self":[0,0,8,2,2])"},
     "/api/v1/flame?RANGE&lens=squint",
     400,
     "lens"},
    {"GET /api/v1/top",
     "/api/v1/top?RANGE&type=samples&limit=1",
     {R"("total":16)", R"("functions":5)", R"({"name":"parse","module":"shop","file":"parse.cc",)",
      R"("self":8,"total":8)", R"("other":8})"},
     "/api/v1/top?RANGE&sort=upwards",
     400,
     "'sort'"},
    {"GET /api/v1/series",
     "/api/v1/series?RANGE&type=samples&query=shop&step=60s&by=pod&search=write",
     {R"({"labels":{"pod":"a"},"values":[9,0],"gaps":[[1,1]]})",
      R"({"labels":{"pod":"b"},"values":[0,3],"gaps":[[0,1]]})", R"("search":{"values":[2,0]})",
      R"("observed_ms":[10000,10000])"},
     "/api/v1/series?RANGE&step=0s",
     400,
     "'step'"},
    {"GET /api/v1/diff",
     "/api/v1/diff?RANGE&type=samples&query={pod=\"b\"}&base_query={pod=\"a\"}&mode=share",
     {R"("total":3)", R"("total_before":9)", R"("observed_ms":10000,"observed_ms_before":10000)",
      R"("statistics":{"groups":"blocks","groups_before":1,"groups_after":1,)", R"("detectable":)",
      R"("verdict":"unknown"})"},
     "/api/v1/diff?RANGE&mode=percent",
     400,
     "'mode'"},
    {"GET /api/v1/list",
     "/api/v1/list?RANGE&type=samples&function=parse",
     {R"("total":16)", R"({"name":"parse","module":"shop","file":"parse.cc",)",
      R"("start_line":7,"self":8,"total":8,"lines":[[11,8,8]])"},
     "/api/v1/list?RANGE&function=(",
     400,
     "regular expression '('"},
    {"GET /api/v1/profiles",
     "/api/v1/profiles?RANGE&type=samples&query={pod=\"a\"}",
     {R"({"profiles":[{"id":"PROFILE","time":)",
      R"("duration_ns":10000000000,"total":9,"samples":3}]})"},
     "/api/v1/profiles?limit=many",
     400,
     "'limit'"},
    {"GET /api/v1/profiles/{id}",
     "/api/v1/profiles/PROFILE?format=otlp-json",
     {R"("parse.cc")", R"("TRACE")", R"("ROOT")"},
     "/api/v1/profiles/PROFILE?format=pdf",
     400,
     "'format'"},
    {"GET /api/v1/export",
     "/api/v1/export?RANGE&query=shop&type=samples&format=folded",
     {"main;parse 8\n", "main;read 2\n", "main;write 2\n"},
     "/api/v1/export?RANGE&query=nobody&type=samples&format=folded",
     404,
     "nobody"},
    {"GET /api/v1/traces",
     "/api/v1/traces?RANGE&service=shop&sort=samples",
     {R"("trace":"TRACE","root_service":"shop","root_name":"POST /pay","root_missing":false)",
      R"("duration_ns":2001,"spans":2,"errors":1)", R"("value":5,"count":5)"},
     "/api/v1/traces?RANGE&status=fine",
     400,
     "'status'"},
    {"GET /api/v1/traces/{trace}",
     "/api/v1/traces/TRACE",
     {R"("span":"ROOT","parent":"","service":"shop","name":"POST /pay","kind":"server")",
      R"("http.status":"200")", R"("name":"SELECT","kind":"server","status":"error")",
      R"("events":[{"time_ns":"STARTNS","name":"retry")"},
     "/api/v1/traces/123",
     400,
     "is not a trace id"},
    {"GET /api/v1/traces/{trace}/critical-path",
     "/api/v1/traces/TRACE/critical-path",
     {R"("root":"ROOT")", R"("segments":[{"span":"ROOT","start_ns":)", R"("moved_ns":{)"},
     "/api/v1/traces/123/critical-path",
     400,
     "is not a trace id"},
    {"GET /api/v1/traces/{trace}/accounting",
     "/api/v1/traces/TRACE/accounting?span=ROOT",
     {R"("span":["ROOT"],"duration":[1000])", R"("parts":{"on_cpu":{"value":[)",
      R"("filed_under":[""])", R"("reasons":["")"},
     "/api/v1/traces/TRACE/accounting?span=12",
     400,
     "is not a span id"},
    {"GET /api/v1/accounting",
     "/api/v1/accounting?RANGE&service=shop&name=SELECT&attribute=http.route=/pay",
     {R"("service":"shop","name":"SELECT","spans":1,"more":false,"traces":1,"duration_ns":2000)"},
     "/api/v1/accounting?RANGE&name=SELECT",
     400,
     "'service'"},
    {"GET /api/v1/accounting",
     "/api/v1/accounting?RANGE&service=shop&limit=10",
     {R"("service":"shop","name":"","spans":2,"more":false)"},
     "/api/v1/accounting?RANGE&service=shop&limit=0",
     400,
     "'limit'"},
    {"GET /api/v1/latency",
     "/api/v1/latency?RANGE&service=shop&steps=1",
     {R"("spans":2,"errors":1,"bounds_ns":[1024,)", R"("cells":[[0,0,)"},
     "/api/v1/latency?RANGE&only=everything",
     400,
     "'only'"},
    {"GET /api/v1/slow",
     "/api/v1/slow?RANGE&service=shop&name=SELECT&slow=p90&typical=p30-p70",
     {R"("requests":1,"more":false,"slow":0,"typical":1)",
      R"("note":"0 slow and 1 typical requests of 1: at least 20 and 50 are needed)"},
     "/api/v1/slow?RANGE&service=shop&name=SELECT&slow=p50",
     400,
     "parameter 'slow': it begins before 'typical' ends"},
    {"GET /api/v1/slow",
     "/api/v1/slow?RANGE&service=shop&box_min=1us",
     {R"("name":"","requests":2)", R"( selected and )"},
     "/api/v1/slow?RANGE&service=shop&box_min=2s&box_max=1s",
     400,
     "parameter 'box_max': less than 'box_min'"},
    {"GET /api/v1/insights",
     "/api/v1/insights?RANGE",
     {R"("services":2,"looked_at":2,"rules":1,"total":0,"findings":[])"},
     "/api/v1/insights?RANGE&rule=unknown",
     404,
     "no rule 'unknown'"},
    {"GET /api/v1/critical-path",
     "/api/v1/critical-path?RANGE&service=shop&name=SELECT&slowest=3",
     {R"("type":"critical path","unit":"nanoseconds","scale":1,"total":2000)",
      R"(["SELECT","shop",)"},
     "/api/v1/critical-path?RANGE&service=shop&name=SELECT&slowest=0",
     400,
     "'slowest'"},
    {"GET /api/v1/explain",
     "/api/v1/explain?trace=TRACE",
     {R"({"title":"POST /pay · shop · )", R"({"label":"Where","text":"shop/)",
      R"("path":"/traces/TRACE")"},
     "/api/v1/explain?trace=TRACE&format=pdf",
     400,
     "'format'"},
    {"GET /api/v1/worse",
     "/api/v1/worse?max_age=0",
     {R"("looking":)", R"("worse":[)", R"("others":[)", R"("marks":[)"},
     "/api/v1/worse?max_age=-1",
     400,
     "'max_age'"},
    {"GET /api/v1/traces/{trace}/flame",
     "/api/v1/traces/TRACE/flame?type=samples",
     {R"("total":5)", R"("by_span":{"ROOT":5})", R"("self":[0,0,5])"},
     "/api/v1/traces/TRACE/flame?span=xyz",
     400,
     "is not a span id"},
    {"GET /api/v1/span-names",
     "/api/v1/span-names?RANGE",
     {R"("spans":[{"service":"shop","name":"POST /pay"},{"service":"shop","name":"SELECT"}],"total":2)",
      R"("services":["shop"],"services_total":1)"},
     "/api/v1/span-names?from=TO&to=FROM",
     400,
     "'to'"},
    {"GET /api/v1/function-traces",
     "/api/v1/function-traces?RANGE&type=samples&function=parse",
     {R"("value":8,"count":8,"linked_value":5,"linked_count":5,"found":1)", R"("trace":"TRACE")",
      R"("seen_in":[{"span":"ROOT","service":"shop","name":"POST /pay","duration_ns":1000,"value":5)"},
     "/api/v1/function-traces?RANGE&function=",
     400,
     "'function'"},
    {"GET /api/v1/heatmap",
     "/api/v1/heatmap?RANGE&type=samples&step=60s&search=read",
     {R"("rows_are":"offset")", R"("cells":[[0,0,1,1,1],[0,25,1,1,1]])"},
     "/api/v1/heatmap?RANGE&step=1ms",
     400,
     "'step'"},
    {"GET /api/v1/overview",
     "/api/v1/overview?RANGE&where=2",
     {R"("total":2)", R"("name":"shop","profiles":4)", R"("heap_bytes":3000)",
      R"("own_top":[{"name":"parse",)", R"("where":{"spans":2,"more":false,"duration_ns":)",
      R"("latency":{"requests":2,"errors":1,)", R"("observed_ms":20000)"},
     "/api/v1/overview?limit=-1",
     400,
     "'limit'"},
    {"GET /api/v1/source",
     "/api/v1/source?RANGE&type=samples&file=parse.cc",
     {R"("text":"int parse();\n")"},
     "/api/v1/source?RANGE&type=samples&file=/etc/passwd",
     404,
     "no profile of this selection names the file"},
    {"POST /api/v1/sql",
     "/api/v1/sql SELECT 1",
     {R"({"columns":[{"name":"a\"b","type":"String"},{"name":"n","type":"Int64"}],)",
      R"("rows":[["99999999999999999", 9007199254740992],["x", "-9007199254740993"]],"cut":true})"},
     "/api/v1/sql SELECT 2",
     400,
     "no such table"},
    {"GET /api/v1/settings",
     "/api/v1/settings",
     {R"("source":true)", R"("otlp_grpc_port":1,"otlp_http_port":2)"},
     "/api/v1/settings?x=1",
     400,
     "'x'"},
    {"GET /api/v1/status",
     "/api/v1/status",
     {R"("part":"test")", R"("profiles":"5 rows, )", R"("samples":"7 rows, )",
      R"("spans":"2 rows, )"},
     "",
     0,
     ""},
    {"POST /api/v1/flush", "/api/v1/flush", {"{}"}, "", 0, ""},
    {"GET /api/v1/pins",
     "/api/v1/pins",
     {R"("pins":[{"id":"1","service":"shop",)", R"("why":"incident")"},
     "/api/v1/pins?wrong=1",
     400,
     "'wrong'"},
    {"POST /api/v1/pins",
     "/api/v1/pins?query=shop&RANGE&why=slow",
     {R"({"id":"2","service":"shop",)", R"("why":"slow")"},
     "/api/v1/pins?query=shop{pod=\"a\"}&RANGE",
     400,
     "without labels"},
    {"DELETE /api/v1/pins/{pin}", "/api/v1/pins/1", {"{}"}, "/api/v1/pins/3", 404, "no pin '3'"},
    {"GET /api/v1/storage",
     "/api/v1/storage",
     {R"({"days":[{"kind":"spans","day":"2026-11-15","bytes":5,"rows":1,"pinned":false}]})"},
     "/api/v1/storage?wrong=1",
     400,
     "'wrong'"},
    {"POST /api/v1/delete",
     "/api/v1/delete?RANGE&query=shop",
     {R"({"samples":3,"profiles":2,"spans":1})"},
     "/api/v1/delete?RANGE&query=",
     400,
     "never guesses"},
    {"GET /api/v1/repair",
     "/api/v1/repair",
     {R"({"steps":["to do"]})"},
     "/api/v1/repair?a=1",
     400,
     "'a'"},
    {"POST /api/v1/repair",
     "/api/v1/repair",
     {R"({"steps":["done"]})"},
     "/api/v1/repair?a=1",
     400,
     "'a'"},
    {"POST /api/v1/backup",
     "/api/v1/backup?target=monday",
     {R"({"target":"/backups/monday","summary":"all of it"})"},
     "/api/v1/backup",
     400,
     "where to?"},
    {"POST /api/v1/adhoc",
     "/api/v1/adhoc?format=folded main;parse 8\n",
     {"main;parse 8"},
     "/api/v1/adhoc?format=otlp&lens=invert main;parse 8\n",
     400,
     "'lens'"},
};

const std::vector<Asked> kJaeger = {
    {"GET /api/services", "/api/services", {R"({"data":["shop"],"total":1,)"}, "", 0, ""},
    {"GET /api/services/{service}/operations",
     "/api/services/shop/operations",
     {R"({"data":["POST /pay","SELECT"],"total":2,)"},
     "",
     0,
     ""},
    {"GET /api/operations",
     "/api/operations?service=shop&spanKind=server",
     {R"({"name":"SELECT","spanKind":"server"})"},
     "/api/operations",
     400,
     "'service' is required"},
    {"GET /api/traces/{id}",
     "/api/traces/TRACE",
     {R"("traceID":"TRACE")", R"("operationName":"POST /pay")", R"("duration":2)", R"("total":1)"},
     "/api/traces/ffff",
     404,
     "trace not found"},
    {"GET /api/traces",
     "/api/traces?service=shop&operation=SELECT&tags={\"error\":\"true\"}",
     {R"("traceID":"TRACE")", R"("operationName":"SELECT")", R"("total":1)"},
     "/api/traces?service=shop&start=soon",
     400,
     "'start'"},
    {"GET /api/dependencies",
     "/api/dependencies",
     {R"({"data":[],"total":0)"},
     "/api/dependencies?lookback=-1",
     400,
     "milliseconds"},
};

// A body of Pyroscope's querier: what is asked for, then the times.
std::string Body(const std::string& more) {
  return "{" + more + R"("start":"FROM","end":"TO"})";
}
const std::string kOfShop = R"("profileTypeID":"CPU","labelSelector":"{service_name=\"shop\"}",)";
const std::string kBadSelector = R"("profileTypeID":"CPU","labelSelector":"{service_name=}",)";

Asked Querier(const std::string& method, const std::string& good, std::vector<std::string> answer,
              const std::string& bad = "", const std::string& problem = "") {
  const std::string path = "/querier.v1.QuerierService/" + method;
  return {"POST " + path,
          path + " " + good,
          std::move(answer),
          bad.empty() ? "" : path + " " + bad,
          400,
          problem};
}

const std::vector<Asked> kPyroscope = {
    Querier("ProfileTypes", Body(""), {R"("ID":"CPU")", R"("sampleType":"inuse_space")"},
            R"({"start":"TO","end":"FROM"})", "invalid_argument"),
    Querier("LabelNames", Body(""), {R"("pod")", R"("thread")", R"("service_name")"},
            Body(R"("matchers":["{pod"],)"), "invalid_argument"),
    Querier("LabelValues", Body(R"("name":"pod",)"), {R"({"names":["a","b"]})"}, Body(""),
            "name is required"),
    Querier("Series", Body(R"("labelNames":["pod"],)"),
            {R"({"name":"pod","value":"a"})", R"({"name":"pod","value":"b"})"},
            Body(R"("matchers":["{pod"],)"), "invalid_argument"),
    Querier("SelectMergeStacktraces", Body(kOfShop), {R"("total":"12")", R"("parse")"},
            Body(kBadSelector), "invalid_argument"),
    Querier("SelectMergeSpanProfile", Body(kOfShop + R"("spanSelector":["ROOT"],)"),
            {R"("total":"5")"}, Body(kOfShop + R"("spanSelector":["x"],)"), "invalid_argument"),
    Querier("SelectMergeProfile", Body(kOfShop), {R"("parse.cc")", R"("8")"}, Body(kBadSelector),
            "invalid_argument"),
    Querier("SelectSeries", Body(kOfShop + R"("groupBy":["pod"],"step":60,)"),
            {R"("value":9)", R"("value":3)"}, Body(kOfShop + R"("step":-1,)"), "invalid_argument"),
    Querier("SelectHeatmap", Body(kOfShop + R"("step":60,)"), {R"("series":[)"},
            Body(kBadSelector + R"("step":60,)"), "invalid_argument"),
    Querier("Diff",
            "{\"left\":" + Body(R"("profileTypeID":"CPU","labelSelector":"{pod=\"a\"}",)") +
                ",\"right\":" + Body(R"("profileTypeID":"CPU","labelSelector":"{pod=\"b\"}",)") +
                "}",
            {R"("leftTicks":"9","rightTicks":"3")"}, "{\"left\":{}}", "invalid_argument"),
    Querier("GetProfileStats", "{}", {R"("dataIngested":true,"oldestProfileTime":"FROM")"}),
    Querier("AnalyzeQuery", Body(""), {"{}"}),
    {"GET /pyroscope/render",
     "/pyroscope/render?query=CPU{service_name=\"shop\"}&from=FROM&until=TO&groupBy=pod",
     {R"("numTicks":12)", R"("parse")"},
     "/pyroscope/render?from=FROM",
     400,
     "'query'"},
    {"GET /pyroscope/render-diff",
     "/pyroscope/render-diff?leftQuery=CPU{pod=\"a\"}&rightQuery=CPU{pod=\"b\"}&leftFrom=FROM&"
     "leftUntil=TO&rightFrom=FROM&rightUntil=TO",
     {R"("leftTicks":9,"rightTicks":3)"},
     "/pyroscope/render-diff?leftQuery=CPU",
     400,
     "'rightQuery'"},
    {"GET /pyroscope/labels",
     "/pyroscope/labels?from=FROM&until=TO",
     {R"("pod")", R"("thread")"},
     "/pyroscope/labels?query={pod",
     400,
     "invalid_argument"},
    {"GET /pyroscope/label-values",
     "/pyroscope/label-values?label=pod&from=FROM&until=TO",
     {R"(["a","b"])"},
     "/pyroscope/label-values",
     400,
     "'label'"},
    {"GET /pyroscope/api/apps",
     "/pyroscope/api/apps?from=FROM&until=TO",
     {R"({"name":"db",)", R"({"name":"shop",)"},
     "/pyroscope/api/apps?query={pod",
     400,
     "invalid_argument"},
    {"GET /api/v1/status/buildinfo",
     "/api/v1/status/buildinfo",
     {R"("version":"1.2.3")"},
     "",
     0,
     ""},
    {"POST /version.v1.Version/Version",
     "/version.v1.Version/Version {}",
     {R"({"QuerierAPI":"1"})"},
     "",
     0,
     ""},
    {"POST /settings.v1.SettingsService/Get",
     "/settings.v1.SettingsService/Get {}",
     {"{}"},
     "",
     0,
     ""},
};

TEST_P(QueriesTest, OurOwn) {
  for (const Asked& asked : kOurs) Check(asked);
}

TEST_P(QueriesTest, Jaegers) {
  for (Asked asked : kJaeger) {
    Check(asked);
    // The same for a datasource with an address of its own.
    asked.good = "/jaeger" + asked.good;
    if (!asked.bad.empty()) asked.bad = "/jaeger" + asked.bad;
    Check(asked);
  }
}

TEST_P(QueriesTest, Pyroscopes) {
  for (Asked asked : kPyroscope) {
    Check(asked);
    // Its older routes are also there without a prefix.
    constexpr std::string_view kPrefix = "/pyroscope";
    if (!asked.good.starts_with(kPrefix)) continue;
    asked.good.erase(0, kPrefix.size());
    asked.bad.erase(0, kPrefix.size());
    Check(asked);
  }
}

TEST_P(QueriesTest, FilesThatAreHandedOver) {
  const std::string service = "/adhocprofiles.v1.AdHocProfileService/";
  // "main;parse 8"
  const std::string file = R"({"name":"a.folded","profile":"bWFpbjtwYXJzZSA4Cg=="})";
  const net::HttpResponse uploaded = served_.Call(service + "Upload", file);
  ASSERT_EQ(uploaded.status, 200) << uploaded.body;
  constexpr std::string_view kId = R"("id":")";
  const std::size_t begin = uploaded.body.find(kId) + kId.size();
  const std::string id = uploaded.body.substr(begin, uploaded.body.find('"', begin) - begin);
  const net::HttpResponse list = served_.Call(service + "List", "{}");
  EXPECT_NE(list.body.find(id), std::string::npos) << list.body;
  const std::string named = fmt::format(R"({{"id":"{}"}})", id);
  EXPECT_NE(served_.Call(service + "Get", named).body.find("parse"), std::string::npos);
  const std::string both = fmt::format(R"({{"leftId":"{0}","rightId":"{0}"}})", id);
  EXPECT_EQ(served_.Call(service + "Diff", both).status, 200);
  EXPECT_EQ(served_.Call(service + "Get", R"({"id":"nothing"})").status, 404);
  EXPECT_EQ(served_.Call(service + "Upload", R"({"name":"a","profile":"%"})").status, 400);
}

TEST_P(QueriesTest, TheServerItself) {
  EXPECT_EQ(served_.Get("/ready").body, "ready\n");
  EXPECT_NE(served_.Get("/metrics").body.find("wherefore_api_seconds"), std::string::npos);
  EXPECT_NE(served_.Get("/openapi.json").body.find("/api/v1/flame"), std::string::npos);
  for (const char* page : {"/", "/s/shop", "/diff", "/traces", "/status"})
    EXPECT_EQ(served_.Get(page).content_type, "text/html; charset=utf-8") << page;
  EXPECT_EQ(served_.Get("/api/v1/nothing").status, 404);
  EXPECT_EQ(served_.Ask("/api/v1/flame", "POST").get().status, 405);
}

// What is not in the tables: routes that are asked under another name as well, files, the page, and
// what only says that it is not there.
bool IsNoQuery(const std::string& route) {
  for (const char* begin :
       {"GET /jaeger/", "POST /adhocprofiles.", "POST /settings.", "POST /vcs.",
        "POST /capabilities.", "GET /ready", "GET /metrics", "GET /openapi.json", "GET /assets",
        "GET /viewer/", "GET /s/", "GET /traces", "GET /slow", "GET /insights", "GET /regressions",
        "GET /alerts"}) {
    if (route.starts_with(begin)) return true;
  }
  static const std::set<std::string> kOthers = {
      "GET /render", "GET /render-diff", "GET /labels", "GET /label-values", "GET /api/apps",
      "GET /",       "GET /diff",        "GET /adhoc",  "GET /status",       "GET /favicon.ico"};
  return kOthers.contains(route);
}

TEST_P(QueriesTest, NoQueryIsLeftOut) {
  std::set<std::string> asked;
  for (const auto* table : {&kOurs, &kJaeger, &kPyroscope}) {
    for (const Asked& one : *table) asked.insert(one.route);
  }
  for (const std::string& route : served_.http().Routes())
    EXPECT_TRUE(asked.contains(route) || IsNoQuery(route)) << route;
}

TEST_P(QueriesTest, OverGrpcAnswersAreTheSame) {
  const std::string service = "/querier.v1.QuerierService/";
  const net::GrpcResponse grpc = served_.CallGrpc(service + "GetProfileStats", "");
  const net::HttpResponse http =
      served_.Ask(service + "GetProfileStats", "POST", "", {{"Content-Type", "application/proto"}})
          .get();
  EXPECT_EQ(grpc.status, 0) << grpc.message;
  EXPECT_FALSE(grpc.body.empty());
  EXPECT_EQ(grpc.body, http.body);
  const net::GrpcResponse bad = served_.CallGrpc(service + "LabelValues", "\xff");
  EXPECT_EQ(bad.status, 3) << bad.message;
}

TEST_P(QueriesTest, AnotherTenantSeesNothing) {
  const net::HttpResponse other =
      served_.Ask(Filled("/api/v1/services?RANGE"), "GET", "", {{"X-Scope-OrgID", "other"}}).get();
  EXPECT_EQ(other.body, R"({"total":0,"services":[]})");
}

TEST_P(QueriesTest, AveragesAreWhatTheProfilesAreWorth) {
  const net::HttpResponse heap = Ask("GET", "/api/v1/flame?RANGE&type=inuse_space");
  EXPECT_NE(heap.body.find(R"("scale":1000,"total":2000000,)"), std::string::npos) << heap.body;
  EXPECT_NE(heap.body.find(R"("averaged":true)"), std::string::npos) << heap.body;
}

INSTANTIATE_TEST_SUITE_P(Kept, QueriesTest, testing::ValuesIn(query::WhereverItCan()),
                         query::KeptName);

}  // namespace
}  // namespace wherefore::api
