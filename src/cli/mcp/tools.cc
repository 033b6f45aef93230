#include "cli/mcp/tools.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_writer.h"
#include "cli/mcp/excerpt.h"

namespace wherefore::cli {
namespace {

using enum ArgumentType;

constexpr std::size_t kMostIncomplete = 400;  // bytes of what stored data an answer lacks

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

// The frames of a flame graph's columns, from the top down: [depth, function, total, self].
Result<std::string> FramesOf(std::string_view body) {
  simdjson::dom::parser parser;
  JsonValue answer;
  simdjson::dom::array depths, functions, of, selves;
  if (parser.parse(body.data(), body.size()).get(answer) != simdjson::SUCCESS ||
      answer["depth"].get(depths) != simdjson::SUCCESS ||
      answer["functions"].get(functions) != simdjson::SUCCESS ||
      answer["function"].get(of) != simdjson::SUCCESS ||
      answer["self"].get(selves) != simdjson::SUCCESS)
    return DamagedAnswer();
  std::vector<std::string> names;
  for (const JsonValue& function : functions) names.push_back(JsonText(function.at(0)));
  std::vector<std::size_t> depth;
  for (const JsonValue& d : depths) depth.push_back(static_cast<std::size_t>(JsonInt(d)));
  std::vector<std::size_t> function;
  for (const JsonValue& f : of) function.push_back(static_cast<std::size_t>(JsonInt(f)));
  std::vector<std::int64_t> self;
  for (const JsonValue& s : selves) self.push_back(JsonInt(s));
  if (function.size() != depth.size() || self.size() != depth.size()) return DamagedAnswer();
  // Children stand behind their parents.
  std::vector<std::int64_t> total = self;
  std::vector<std::size_t> above(depth.size() + 1);
  std::vector<std::size_t> parent(depth.size());
  for (std::size_t n = 0; n < depth.size(); ++n) {
    if (depth[n] > n || function[n] >= names.size()) return DamagedAnswer();
    above[depth[n]] = n;
    parent[n] = depth[n] == 0 ? n : above[depth[n] - 1];
  }
  for (std::size_t n = depth.size(); n-- > 1;) total[parent[n]] += total[n];
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("type", JsonText(answer["type"]))
      .Field("unit", JsonText(answer["unit"]));
  json.Field("scale", JsonInt(answer["scale"])).Field("observations", JsonInt(answer["count"]));
  json.Field("nodes_in_full", JsonInt(answer["nodes_in_full"]));
  if (const std::string hint = JsonText(answer["hint"]); !hint.empty()) json.Field("hint", hint);
  json.Key("columns").BeginArray();
  for (const char* column : {"depth", "function", "total", "self"}) json.String(column);
  json.EndArray().Key("frames").BeginArray();
  for (std::size_t n = 0; n < depth.size(); ++n) {
    json.BeginArray().Int(static_cast<std::int64_t>(depth[n])).String(names[function[n]]);
    json.Int(total[n]).Int(self[n]).EndArray();
  }
  json.EndArray().EndObject();
  return out;
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

// One row for each span, the longest first, instead of columns.
class AccountingRows {
 public:
  AccountingRows(const JsonValue& accounting, const JsonValue& spans)
      : accounting_(accounting), strings_(Texts(spans["strings"])) {
    simdjson::dom::array ids;
    if (spans["span"].get(ids) != simdjson::SUCCESS) return;
    std::size_t row = 0;
    for (const JsonValue& id : ids) {
      const auto text = [&](const char* column) {
        const auto index = static_cast<std::size_t>(JsonInt(At(spans[column], row)));
        return index < strings_.size() ? strings_[index] : std::string();
      };
      names_[JsonText(id)] = {text("service"), text("name")};
      ++row;
    }
  }

  std::string Rows() {
    std::vector<std::pair<std::int64_t, std::size_t>> order;  // duration, row
    simdjson::dom::array durations;
    if (accounting_["duration"].get(durations) == simdjson::SUCCESS) {
      for (const JsonValue& d : durations) order.emplace_back(JsonInt(d), order.size());
    }
    std::ranges::stable_sort(order, std::greater(), &std::pair<std::int64_t, std::size_t>::first);
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("trace", JsonText(accounting_["trace"])).Field("unit", "nanoseconds");
    json.Key("spans").BeginArray();
    for (const auto& [duration, row] : order) Row(json, row, duration);
    json.EndArray().EndObject();
    return out;
  }

 private:
  static JsonLookup At(const JsonLookup& column, std::size_t row) {
    simdjson::dom::array items;
    if (column.get(items) != simdjson::SUCCESS) return simdjson::NO_SUCH_FIELD;
    return items.at(row);
  }
  static std::vector<std::string> Texts(const JsonLookup& list) {
    std::vector<std::string> texts;
    simdjson::dom::array items;
    if (list.get(items) != simdjson::SUCCESS) return texts;
    for (const JsonValue& item : items) texts.push_back(JsonText(item));
    return texts;
  }

  void Row(JsonWriter& json, std::size_t row, std::int64_t duration) {
    const std::string span = JsonText(At(accounting_["span"], row));
    const auto& [service, name] = names_[span];
    json.BeginObject().Field("span", span).Field("service", service).Field("name", name);
    json.Field("duration", duration).Key("parts").BeginObject();
    simdjson::dom::object parts;
    if (accounting_["parts"].get(parts) == simdjson::SUCCESS) {
      for (const auto& [part, columns] : parts) {
        const std::int64_t value = JsonInt(At(columns["value"], row));
        if (value == 0) continue;
        json.Key(part).BeginObject().Field("value", value);
        json.Field("error", JsonInt(At(columns["error"], row))).EndObject();
      }
    }
    json.EndObject();
    const auto why = static_cast<std::size_t>(JsonInt(At(accounting_["why"], row)));
    const std::string reason = JsonText(At(accounting_["reasons"], why));
    if (!reason.empty()) json.Field("why_unobserved", reason);
    json.EndObject();
  }

  const JsonValue& accounting_;
  const std::vector<std::string> strings_;
  std::map<std::string, std::pair<std::string, std::string>> names_;  // of spans
};

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
  return Shortened(AccountingRows(a, s).Rows(), {});
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

void AppendLines(JsonWriter& json, const JsonValue& function,
                 const std::vector<std::string>& source) {
  simdjson::dom::array lines;
  json.Key("lines").BeginArray();
  if (function["lines"].get(lines) == simdjson::SUCCESS) {
    for (const JsonValue& line : lines) {
      const std::int64_t number = JsonInt(line.at(0));
      json.BeginObject().Field("line", number).Field("self", JsonInt(line.at(1)));
      json.Field("total", JsonInt(line.at(2)));
      if (number > 0 && static_cast<std::size_t>(number) <= source.size())
        json.Field("text", source[static_cast<std::size_t>(number) - 1]);
      json.EndObject();
    }
  }
  json.EndArray();
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
    Tool{"alerts", "Alerts",
         "What fires and what is pending: which service, since when, with which value, and why; "
         "and the rules.",
         kNoArguments, AlertsNow},
    Tool{"source_lines", "Source lines",
         "What each line of a function costs, with its text where the server has the source.",
         kSourceArguments, SourceLines}};

std::string_view TypeName(ArgumentType type) {
  switch (type) {
    case kText:
      return "string";
    case kInteger:
      return "integer";
    case kFlag:
      return "boolean";
    case kTexts:
      break;
  }
  return "array";
}

Error Wrong(const Argument& argument) {
  return {Code::kInvalid,
          fmt::format("argument '{}': expected {}", argument.name,
                      argument.type == kTexts ? "an array of strings" : TypeName(argument.type))};
}

Result<> Read(const Argument& argument, const JsonValue& value, ToolParameters& parameters) {
  const std::string name(argument.name);
  std::string_view text;
  std::int64_t number = 0;
  bool flag = false;
  simdjson::dom::array items;
  switch (argument.type) {
    case kText:
      if (value.get(text) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, text);
      return {};
    case kInteger:
      if (value.get(number) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, fmt::format("{}", number));
      return {};
    case kFlag:
      if (value.get(flag) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, flag ? "true" : "false");
      return {};
    case kTexts:
      if (value.get(items) != simdjson::SUCCESS) return Wrong(argument);
      for (const JsonValue& item : items) {
        if (item.get(text) != simdjson::SUCCESS) return Wrong(argument);
        parameters.emplace_back(name, text);
      }
  }
  return {};
}

Result<ToolParameters> ReadArguments(const Tool& tool, const JsonLookup& arguments) {
  ToolParameters parameters;
  std::set<std::string_view> given;
  simdjson::dom::object object;
  const bool any = arguments.error() == simdjson::SUCCESS && !arguments.is_null();
  if (any && arguments.get(object) != simdjson::SUCCESS)
    return Error(Code::kInvalid, "'arguments' must be an object");
  if (any) {
    for (const auto& [key, value] : object) {
      const auto found = std::ranges::find(tool.arguments, key, &Argument::name);
      if (found == tool.arguments.end()) {
        std::vector<std::string_view> names;
        for (const Argument& argument : tool.arguments) names.push_back(argument.name);
        return Error(Code::kInvalid, fmt::format("no argument '{}'; {} has {}", key, tool.name,
                                                 fmt::join(names, ", ")));
      }
      WHEREFORE_RETURN_IF_ERROR(Read(*found, value, parameters));
      given.insert(found->name);
    }
  }
  for (const Argument& argument : tool.arguments) {
    if (argument.required && !given.contains(argument.name))
      return Error(Code::kInvalid, fmt::format("argument '{}' is missing", argument.name));
  }
  return parameters;
}

}  // namespace

Result<std::string> ToolCall::Ask(const std::string& path, const ToolParameters& parameters) {
  WHEREFORE_ASSIGN_OR_RETURN(Answer answer, ask_(path, parameters, cancel_));
  if (!answer.incomplete.empty()) incomplete_ = answer.incomplete.substr(0, kMostIncomplete);
  return std::move(answer.body);
}

std::string ToolCall::Get(std::string_view name) const {
  const auto found = std::ranges::find(arguments_, name,
                                       [](const auto& a) -> std::string_view { return a.first; });
  return found == arguments_.end() ? std::string() : found->second;
}

ToolParameters ToolCall::Without(std::initializer_list<std::string_view> names) const {
  ToolParameters out;
  for (const auto& argument : arguments_) {
    if (std::ranges::find(names, std::string_view(argument.first)) == names.end())
      out.push_back(argument);
  }
  return out;
}

std::span<const Tool> Tools() {
  return kTools;
}

const Tool* FindTool(std::string_view name) {
  const auto found = std::ranges::find(kTools, name, &Tool::name);
  return found == kTools.end() ? nullptr : &*found;
}

std::string InputSchema(const Tool& tool) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("type", "object").Key("properties").BeginObject();
  for (const Argument& argument : tool.arguments) {
    json.Key(argument.name).BeginObject().Field("type", TypeName(argument.type));
    if (argument.type == kTexts)
      json.Key("items").BeginObject().Field("type", "string").EndObject();
    json.Field("description", argument.description).EndObject();
  }
  json.EndObject().Key("required").BeginArray();
  for (const Argument& argument : tool.arguments) {
    if (argument.required) json.String(argument.name);
  }
  json.EndArray().Field("additionalProperties", false).EndObject();
  return out;
}

bool FitsTool(std::string_view object) {
  std::string quoted;
  AppendJsonString(quoted, object);
  constexpr std::size_t kAround = 300 + 2 * kMostIncomplete;  // of the message
  return object.size() + quoted.size() + kAround <= kMostToolBytes;
}

Result<std::string> CallTool(const Tool& tool, const JsonLookup& arguments, const AskApi& ask,
                             const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(ToolParameters read, ReadArguments(tool, arguments));
  ToolCall call(ask, cancel, std::move(read));
  WHEREFORE_ASSIGN_OR_RETURN(std::string object, tool.run(call));
  if (call.incomplete().empty()) return object;
  object.pop_back();
  object += object.size() > 1 ? R"(,"incomplete":)" : R"("incomplete":)";
  AppendJsonString(object, call.incomplete());
  return object + "}";
}

}  // namespace wherefore::cli
