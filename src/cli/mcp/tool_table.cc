// The tools: what each asks the server, and how its answer is put.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/mcp/excerpt.h"
#include "cli/mcp/reshape.h"
#include "cli/mcp/tools.h"

namespace wherefore::cli {
namespace {

using enum ArgumentType;

constexpr Argument kSelector{
    "query", kText, "Selector: service{label=\"value\", other=~\"re.*\"}; empty: everything.",
    false};
constexpr Argument kService{"service", kText, "Name of the service.", true};
constexpr Argument kSpanName{"name", kText, "Name of the spans, exact: \"POST /pay\".", true};
constexpr Argument kTrace{"trace", kText, "Trace id, 32 hex digits.", true};
constexpr Argument kType{"type", kText,
                         "Profile type: cpu (default), wall, off_cpu, alloc_space, inuse_space, "
                         "mutex, block, threads, …"};
constexpr Argument kSince{"since", kText, "How far back: 15m, 6h, 7d. Default 1h."};
constexpr Argument kFrom{"from", kText, "Start, instead of since: RFC 3339, Unix time, or -2h."};
constexpr Argument kTo{"to", kText, "End, like from. Default: now."};
constexpr Argument kAttribute{"attribute", kTexts, "Only spans with name=value."};
constexpr Argument kOwn{"own", kFlag,
                        "Charge libraries, runtime and kernel to the nearest function of the "
                        "program itself."};
constexpr Argument kLimit{"limit", kInteger, "At most so many."};

// --- Answers that are the server's, but for fields nobody reads ---

Result<std::string> Shortened(std::string_view body, std::set<std::string_view> without) {
  simdjson::dom::parser parser;
  JsonValue answer;
  if (parser.parse(body.data(), body.size()).get(answer) != simdjson::SUCCESS ||
      !answer.is_object())
    return DamagedAnswer();
  return ExcerptOf(answer, {.without = std::move(without), .fits = FitsTool});
}

Result<std::string> AskShortened(ToolCall& call, const std::string& path,
                                 const ToolParameters& parameters,
                                 std::set<std::string_view> without = {}) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string body, call.Ask(path, parameters));
  return Shortened(body, std::move(without));
}

// The flag `own` is the lens of that name.
ToolParameters WithOwn(const ToolCall& call, ToolParameters parameters) {
  if (call.Get("own") == "true") parameters.emplace_back("own", "default");
  return parameters;
}

// --- The tools ---

constexpr std::array kListServicesArguments = {
    Argument{"search", kText, "Only services with this in their name."}, kSince, kFrom, kTo,
    kLimit};
Result<std::string> ListServices(ToolCall& call) {
  return AskShortened(call, "/api/v1/overview", call.Without({}),
                      {"cpu", "cpu_gaps", "step_observed_ms", "step_ms", "start_ms", "heap"});
}

constexpr std::array kTopArguments = {
    kSelector,
    kType,
    kSince,
    kFrom,
    kTo,
    kOwn,
    Argument{"sort", kText, "self (default) or total."},
    Argument{"limit", kInteger, "At most so many functions; default 30."}};
Result<std::string> TopFunctions(ToolCall& call) {
  ToolParameters parameters = WithOwn(call, call.Without({"own"}));
  if (call.Get("limit").empty()) parameters.emplace_back("limit", "30");
  return AskShortened(call, "/api/v1/top", parameters);
}

constexpr std::array kFlameArguments = {
    kSelector,
    kType,
    kSince,
    kFrom,
    kTo,
    kOwn,
    Argument{"lens", kText,
             "Steps joined by ' > ': focus:RE, hide:RE, collapse:RE, invert, my-code, …"},
    Argument{"max_nodes", kInteger, "Largest frames shown; the rest is 'other'. Default 100."}};
// The server cuts a graph best: by value, with what is cut as 'other'.
Result<std::string> FlameGraph(ToolCall& call) {
  std::int64_t nodes = 100;
  if (const std::string asked = call.Get("max_nodes"); !asked.empty()) {
    const auto number = ParseInt(asked);
    if (!number || *number < 1 || *number > 10'000)
      return Error(Code::kInvalid, "argument 'max_nodes': expected 1 to 10000");
    nodes = *number;
  }
  for (;; nodes /= 2) {
    ToolParameters parameters = WithOwn(call, call.Without({"own", "max_nodes"}));
    parameters.emplace_back("max_nodes", fmt::format("{}", nodes));
    WHEREFORE_ASSIGN_OR_RETURN(const std::string body, call.Ask("/api/v1/flame", parameters));
    WHEREFORE_ASSIGN_OR_RETURN(const std::string frames, FramesOf(body));
    if (FitsTool(frames)) return frames;
    if (nodes <= 8) return Shortened(frames, {});
  }
}

constexpr std::array kDiffArguments = {
    Argument{"before", kText, "Selector of the side before: shop{service.version=\"v1\"}.", true},
    Argument{"after", kText, "Selector of the side after.", true},
    kType,
    Argument{
        "mode", kText,
        "request (per request), share (of each side's total, default), rate (per second), raw."},
    kSince,
    kFrom,
    kTo,
    Argument{"base_from", kText, "Start of the side before, if at another time."},
    Argument{"base_to", kText, "Its end."}};
Result<std::string> Diff(ToolCall& call) {
  ToolParameters parameters = call.Without({"before", "after"});
  parameters.emplace_back("query", call.Get("after"));
  parameters.emplace_back("base_query", call.Get("before"));
  if (call.Get("mode").empty()) parameters.emplace_back("mode", "share");
  parameters.emplace_back("max_nodes", "1");
  return AskShortened(call, "/api/v1/diff", parameters,
                      {"depth", "functions", "hidden", "before_self", "before_count", "self_count",
                       "nodes", "nodes_in_full"});
}

constexpr std::array kTracesArguments = {
    Argument{"service", kText, "Only traces with a span of this service."},
    Argument{"name", kText, "Only with a span of this name."},
    Argument{"min_duration", kText, "Spans at least this long: 200ms, 1.5s."},
    Argument{"max_duration", kText, "Spans at most this long."},
    Argument{"status", kText, "error or ok."},
    kAttribute,
    Argument{"sort", kText, "time (newest, default), duration, cpu or samples."},
    kSince,
    kFrom,
    kTo,
    kLimit};
Result<std::string> FindTraces(ToolCall& call) {
  ToolParameters parameters = call.Without({});
  if (call.Get("limit").empty()) parameters.emplace_back("limit", "10");
  parameters.emplace_back("matched", "3");
  return AskShortened(call, "/api/v1/traces", parameters, {"start_ns"});
}

constexpr std::array kExplainTraceArguments = {kTrace};
Result<std::string> ExplainTrace(ToolCall& call) {
  return AskShortened(call, "/api/v1/explain", call.Without({}));
}

constexpr std::array kAccountingArguments = {
    Argument{"trace", kText, "Trace id, 32 hex digits: every span of it."},
    Argument{"service", kText, "Or: all spans of this service …"},
    Argument{"name", kText, "… with this name."},
    kAttribute,
    kSince,
    kFrom,
    kTo};
Result<std::string> AccountingOf(ToolCall& call) {
  const std::string trace = call.Get("trace");
  if (trace.empty()) {
    if (call.Get("service").empty() || call.Get("name").empty())
      return Error(Code::kInvalid, "expected 'trace', or 'service' and 'name'");
    return AskShortened(call, "/api/v1/accounting", call.Without({"trace"}));
  }
  if (trace.size() != 32 || trace.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return Error(Code::kInvalid, "argument 'trace': expected 32 hex digits");
  WHEREFORE_ASSIGN_OR_RETURN(const std::string accounting,
                             call.Ask(fmt::format("/api/v1/traces/{}/accounting", trace), {}));
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::string spans,
      call.Ask(fmt::format("/api/v1/traces/{}", trace), {{"format", "columns"}}));
  simdjson::dom::parser of_accounting, of_spans;
  JsonValue a, s;
  if (of_accounting.parse(accounting).get(a) != simdjson::SUCCESS ||
      of_spans.parse(spans).get(s) != simdjson::SUCCESS)
    return DamagedAnswer();
  return Shortened(AccountingRowsOf(a, s), {});
}

constexpr std::array kSlowArguments = {
    kService,
    kSpanName,
    kAttribute,
    Argument{"slow", kText, "From which percentile on a request is slow. Default p95."},
    Argument{"typical", kText, "Between which it is typical. Default p40-p60."},
    kSince,
    kFrom,
    kTo};
Result<std::string> SlowVersusTypical(ToolCall& call) {
  return AskShortened(call, "/api/v1/slow", call.Without({}));
}

constexpr std::array kFunctionTracesArguments = {
    Argument{"function", kText, "The function's whole name.", true},
    Argument{"module", kText, "File name of its program or library."},
    kSelector,
    kType,
    Argument{"sort", kText, "value (default), duration or time."},
    kSince,
    kFrom,
    kTo,
    kLimit};
Result<std::string> FunctionTraces(ToolCall& call) {
  ToolParameters parameters = call.Without({});
  if (call.Get("limit").empty()) parameters.emplace_back("limit", "10");
  return AskShortened(call, "/api/v1/function-traces", parameters);
}

constexpr std::array kInsightsArguments = {
    kSelector, Argument{"rule", kText, "Only this rule."}, kSince, kFrom, kTo, kLimit};
Result<std::string> Insights(ToolCall& call) {
  return AskShortened(call, "/api/v1/insights", call.Without({}));
}

constexpr std::array<Argument, 0> kNoArguments = {};
Result<std::string> AlertsNow(ToolCall& call) {
  return AskShortened(call, "/api/v1/alerts", call.Without({}));
}

constexpr std::array kRegressionsArguments = {
    Argument{"service", kText, "Only of this service."},
    Argument{"state", kText, "open (default), acknowledged, muted, gone; several with commas."},
    Argument{"since", kText, "Only those first seen since then: 7d. Default: all."}, kLimit};
Result<std::string> Regressions(ToolCall& call) {
  ToolParameters parameters = call.Without({});
  if (call.Get("state").empty()) parameters.emplace_back("state", "open");
  return AskShortened(call, "/api/v1/regressions", parameters, {"sides", "watch"});
}

constexpr std::array kExplainServiceArguments = {kService, kSince, kFrom, kTo};
Result<std::string> ExplainService(ToolCall& call) {
  return AskShortened(call, "/api/v1/explain", call.Without({}));
}

constexpr std::array kSourceArguments = {
    Argument{"function", kText, "Regular expression (RE2) for the function's name.", true},
    kSelector,
    kType,
    kSince,
    kFrom,
    kTo};

// The text of a file by line; empty: the server has none.
std::vector<std::string> SourceOf(ToolCall& call, const std::string& file) {
  std::vector<std::string> lines;
  if (file.empty()) return lines;
  ToolParameters parameters = call.Without({"function", "type"});
  parameters.emplace_back("file", file);
  const auto body = call.Ask("/api/v1/source", parameters);
  if (!body) return lines;
  simdjson::dom::parser parser;
  JsonValue answer;
  if (parser.parse(*body).get(answer) != simdjson::SUCCESS) return lines;
  const std::string text = JsonText(answer["text"]);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Result<std::string> SourceLines(ToolCall& call) {
  constexpr std::size_t kMostFiles = 5;
  WHEREFORE_ASSIGN_OR_RETURN(const std::string body, call.Ask("/api/v1/list", call.Without({})));
  simdjson::dom::parser parser;
  JsonValue answer;
  simdjson::dom::array functions;
  if (parser.parse(body).get(answer) != simdjson::SUCCESS ||
      answer["functions"].get(functions) != simdjson::SUCCESS)
    return DamagedAnswer();
  std::map<std::string, std::vector<std::string>> sources;
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("type", JsonText(answer["type"]))
      .Field("unit", JsonText(answer["unit"]));
  json.Field("scale", JsonInt(answer["scale"])).Field("total", JsonInt(answer["total"]));
  if (const std::string hint = JsonText(answer["hint"]); !hint.empty()) json.Field("hint", hint);
  json.Key("functions").BeginArray();
  for (const JsonValue& function : functions) {
    const std::string file = JsonText(function["file"]);
    if (sources.size() < kMostFiles && !sources.contains(file))
      sources[file] = SourceOf(call, file);
    json.BeginObject().Field("name", JsonText(function["name"]));
    json.Field("module", JsonText(function["module"])).Field("file", file);
    json.Field("self", JsonInt(function["self"])).Field("total", JsonInt(function["total"]));
    AppendLines(json, function,
                sources.contains(file) ? sources[file] : std::vector<std::string>());
    json.EndObject();
  }
  json.EndArray().EndObject();
  return Shortened(out, {});
}

constexpr std::array kTools = {
    Tool{"list_services", "Services",
         "Which services are profiled: CPU cores, latency, versions, top functions of each. Start "
         "here.",
         kListServicesArguments, ListServices},
    Tool{"top_functions", "Top functions",
         "The functions of a selection that cost most, with self and total value and the number of "
         "observations.",
         kTopArguments, TopFunctions},
    Tool{"flame_graph", "Flame graph",
         "The call tree of a selection, largest frames only; what is cut is in 'other'. Rows are "
         "[depth, function, total, self], from the root down.",
         kFlameArguments, FlameGraph},
    Tool{"diff", "Difference",
         "What changed between two selections (versions, times), and which changes are more than "
         "chance: 'causes' are the few functions that explain it, with 95 % intervals.",
         kDiffArguments, Diff},
    Tool{"find_traces", "Find traces",
         "Traces by service, span name, duration, status, attributes.", kTracesArguments,
         FindTraces},
    Tool{
        "explain_trace", "Explain a trace",
        "Why one request took as long as it did: where, why, since which version, unlike what, how "
        "sure.",
        kExplainTraceArguments, ExplainTrace},
    Tool{"accounting", "Time accounting",
         "Where the time of the spans of a trace went, or of all spans of a name: on CPU, lock, "
         "thread, I/O, sleep, other, children, unobserved; nanoseconds, with 95 % errors.",
         kAccountingArguments, AccountingOf},
    Tool{"slow_versus_typical", "Slow versus typical",
         "What slow requests of an endpoint do that typical ones do not: the gap split into parts, "
         "children, functions and attributes; causes first.",
         kSlowArguments, SlowVersusTypical},
    Tool{"function_traces", "Traces of a function", "The traces in which a function was seen.",
         kFunctionTracesArguments, FunctionTraces},
    Tool{"insights", "Insights",
         "Known costly patterns that are surely present: what each costs, would save, and how to "
         "mend it.",
         kInsightsArguments, Insights},
    Tool{"regressions", "Regressions",
         "What surely got dearer with a new version: function, how much with its interval, cores, "
         "callers, endpoints, traces of both sides; and which versions were looked at.",
         kRegressionsArguments, Regressions},
    Tool{"explain_service", "Explain a service",
         "What is up with one service: what changed, what is expensive, which patterns cost, what "
         "fires, how sure.",
         kExplainServiceArguments, ExplainService},
    Tool{"alerts", "Alerts",
         "What fires and what is pending: which service, since when, with which value, and why; "
         "and the rules.",
         kNoArguments, AlertsNow},
    Tool{"source_lines", "Source lines",
         "What each line of a function costs, with its text where the server has the source.",
         kSourceArguments, SourceLines}};

}  // namespace

std::span<const Tool> Tools() {
  return kTools;
}

const Tool* FindTool(std::string_view name) {
  const auto found = std::ranges::find(kTools, name, &Tool::name);
  return found == kTools.end() ? nullptr : &*found;
}

}  // namespace wherefore::cli
