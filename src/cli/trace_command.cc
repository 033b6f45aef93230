// `trace`: a trace as a waterfall in the terminal. A span's bar shows where its time went; beside
// it is its profile value if there is one and, for the spans with most, the functions it was spent
// in.

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/account_bar.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/render.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

// How many spans get a line with functions, and how many functions it has.
constexpr std::size_t kMaxExplained = 10;
constexpr std::size_t kFunctionsInLine = 3;
constexpr std::size_t kTopRows = 30;

struct Span {
  std::string id, parent, service, name, status;
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::vector<std::size_t> children;
};

Result<std::vector<Span>> ParseTrace(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::array spans;
  if (parser.parse(body)["spans"].get(spans) != simdjson::SUCCESS) {
    return DamagedAnswer();
  }
  std::vector<Span> out;
  for (const simdjson::dom::element e : spans) {
    const auto text = [&](const char* key) { return JsonText(e[key]); };
    out.push_back({.id = text("span"),
                   .parent = text("parent"),
                   .service = text("service"),
                   .name = text("name"),
                   .status = text("status"),
                   .start = JsonInt(e["start_ns"]),
                   .duration = JsonInt(e["duration_ns"])});
  }
  return out;
}

// The profile data of a trace that the waterfall shows.
struct Profiled {
  std::string type, unit, hint;
  std::map<std::string, std::int64_t> by_span;
  std::map<std::string, std::string> looks;  // of a value that they add up to: " ± 5 ms in 2 looks"
  std::map<std::string, profile::FlameTree> trees;  // of the spans with most
};

// The error of a value that was measured by looks.
std::string LooksText(const JsonValue& looks) {
  const std::int64_t count = JsonInt(looks["count"]);
  return fmt::format(" ± {} in {} look{}", FormatDuration(JsonInt(looks["error_ns"])),
                     FormatCount(count), count == 1 ? "" : "s");
}

Result<Profiled> ParseProfiled(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS) return DamagedAnswer();
  Profiled out{.type = JsonText(root["type"]),
               .unit = JsonText(root["unit"]),
               .hint = JsonText(root["hint"])};
  simdjson::dom::object spans;
  if (root["looks"]["by_span"].get(spans) == simdjson::SUCCESS) {
    for (const auto& [key, value] : spans) out.looks[std::string(key)] = LooksText(value);
  }
  if (root["by_span"].get(spans) != simdjson::SUCCESS) return out;
  for (const auto& [key, value] : spans) {
    if (const std::int64_t v = JsonInt(value); v != 0) out.by_span[std::string(key)] = v;
  }
  return out;
}

struct TraceOptions {
  std::string id, type, span;

  [[nodiscard]] std::string FlamePath() const { return "/api/v1/traces/" + id + "/flame"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Parameters(
      const std::string& of_span) const {
    std::vector<std::pair<std::string, std::string>> out;
    if (!type.empty()) out.emplace_back("type", type);
    if (!of_span.empty()) out.emplace_back("span", of_span);
    return out;
  }
};

// The value of every span.
Result<Profiled> AskValues(const Context& context, const TraceOptions& options) {
  auto parameters = options.Parameters(options.span);
  parameters.emplace_back("max_nodes", "1");
  WHEREFORE_ASSIGN_OR_RETURN(const std::string body,
                             Ask(context, "GET", options.FlamePath(), parameters));
  return ParseProfiled(body);
}

// The same, with the functions of the spans with most.
Result<Profiled> AskProfiled(const Context& context, const TraceOptions& options) {
  WHEREFORE_ASSIGN_OR_RETURN(Profiled out, AskValues(context, options));
  std::vector<std::pair<std::int64_t, std::string>> largest;
  largest.reserve(out.by_span.size());
  for (const auto& [span, value] : out.by_span) largest.emplace_back(-value, span);
  std::ranges::sort(largest);
  if (largest.size() > kMaxExplained) largest.resize(kMaxExplained);
  for (const auto& [value, span] : largest) {
    WHEREFORE_ASSIGN_OR_RETURN(SourceTree source,
                               AskTree(context, options.FlamePath(), options.Parameters(span)));
    out.trees[span] = std::move(source.tree);
  }
  return out;
}

class Waterfall {
 public:
  Waterfall(std::vector<Span> spans, Profiled profiled, SpanAccounts accounts, int width)
      : spans_(std::move(spans)),
        profiled_(std::move(profiled)),
        accounts_(std::move(accounts)),
        width_(width) {}

  std::string Draw(bool color) {
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < spans_.size(); ++i) index[spans_[i].id] = i;
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const auto parent = index.find(spans_[i].parent);
      if (parent == index.end() || parent->second == i) {
        roots.push_back(i);
      } else {
        spans_[parent->second].children.push_back(i);
      }
      begin_ = std::min(begin_, spans_[i].start);
      end_ = std::max(end_, spans_[i].start + spans_[i].duration);
    }
    std::string out =
        fmt::format("{} span{}, {}, from {}{}\n", spans_.size(), spans_.size() == 1 ? "" : "s",
                    FormatDuration(end_ - begin_), FormatTime(begin_),
                    profiled_.by_span.empty() ? "" : fmt::format("; profiled: {}", profiled_.type));
    out += AccountLegend() + "\n";
    // A damaged trace may contain loops; every span is drawn once.
    std::vector<char> drawn(spans_.size());
    struct Open {
      std::size_t span;
      int depth;
    };
    std::vector<Open> open;
    for (std::size_t k = roots.size(); k-- > 0;) open.push_back({roots[k], 0});
    for (std::size_t next = 0; !open.empty() || next < spans_.size();) {
      if (open.empty()) {  // spans that are each other's ancestors have no root
        if (drawn[next] == 0) open.push_back({next, 0});
        ++next;
        continue;
      }
      const Open at = open.back();
      open.pop_back();
      if (drawn[at.span]++ != 0) continue;
      out += Row(spans_[at.span], at.depth, color) + Functions(spans_[at.span], at.depth);
      const auto& children = spans_[at.span].children;
      for (std::size_t k = children.size(); k-- > 0;) open.push_back({children[k], at.depth + 1});
    }
    const std::size_t more = profiled_.by_span.size() - profiled_.trees.size();
    if (more > 0 && !profiled_.trees.empty()) {
      out += fmt::format(
          "{} more spans were profiled; --span ID shows the functions of one (--json has the "
          "ids)\n",
          more);
    }
    return out;
  }

 private:
  std::string Row(const Span& s, int depth, bool color) const {
    const auto left = static_cast<std::size_t>(std::clamp(width_ / 2 - 12, 24, 60));
    const auto bar = static_cast<std::size_t>(std::max(width_ - static_cast<int>(left) - 24, 10));
    const double scale =
        static_cast<double>(bar) / static_cast<double>(std::max<std::int64_t>(end_ - begin_, 1));
    const auto from =
        std::min(static_cast<std::size_t>(static_cast<double>(s.start - begin_) * scale), bar - 1);
    const auto length =
        std::clamp(static_cast<std::size_t>(static_cast<double>(s.duration) * scale),
                   std::size_t{1}, bar - from);
    std::string label = Fit(
        std::string(static_cast<std::size_t>(depth) * 2, ' ') + s.name + "  " + s.service, left);
    label += std::string(left - ScreenWidth(label), ' ');
    const auto account = accounts_.find(s.id);
    std::string blocks =
        AccountBar(account == accounts_.end() ? SpanAccount{} : account->second, length);
    if (color) blocks = fmt::format("\x1b[3{}m{}\x1b[0m", s.status == "error" ? 1 : 4, blocks);
    const auto value = profiled_.by_span.find(s.id);
    return fmt::format(
        "{} {}{}{} {:>8}{}{}\n", label, std::string(from, ' '), blocks,
        std::string(bar - from - length, ' '), FormatDuration(s.duration),
        s.status == "error" ? " error" : "",
        value == profiled_.by_span.end() ? "" : "  " + ValueText(s.id, value->second));
  }

  [[nodiscard]] std::string ValueText(const std::string& span, std::int64_t value) const {
    const auto looks = profiled_.looks.find(span);
    return FormatValue(value, profiled_.unit) +
           (looks == profiled_.looks.end() ? " profiled" : looks->second);
  }

  // A span's own functions, below its row, with its id for --span.
  std::string Functions(const Span& s, int depth) const {
    const auto tree = profiled_.trees.find(s.id);
    if (tree == profiled_.trees.end()) return "";
    const auto width = static_cast<std::size_t>(width_);
    const std::string left =
        std::string(std::min(static_cast<std::size_t>(depth) * 2 + 4, width / 2), ' ') + s.id +
        "  ";
    return left +
           RenderTopLine(tree->second, kFunctionsInLine, width - std::min(width, left.size())) +
           "\n";
  }

  std::vector<Span> spans_;
  Profiled profiled_;
  SpanAccounts accounts_;
  int width_;
  std::int64_t begin_ = INT64_MAX;
  std::int64_t end_ = INT64_MIN;
};

// One span: its row, then its functions as in `top`. Exit code 1 if there are none.
int ShowSpan(const Context& context, const TraceOptions& options, std::vector<Span> spans) {
  if (spans.empty()) {
    Fail(Error(Code::kNotFound,
               fmt::format("no span {} in trace {}; --json without --span has their ids",
                           options.span, options.id)));
    return kFound;
  }
  const auto source = AskTree(context, options.FlamePath(), options.Parameters(options.span));
  if (!source) return Fail(source.error());
  auto profiled = AskValues(context, options);
  if (!profiled) return Fail(profiled.error());
  if (profiled->looks.empty()) profiled->by_span.clear();  // the table shows it
  const auto accounts = AskAccounts(context, options.id, options.span);
  if (!accounts) return Fail(accounts.error());
  fmt::print("{}", Waterfall(std::move(spans), *std::move(profiled), *accounts, TerminalWidth())
                       .Draw(context.color));
  for (const auto& [id, account] : *accounts) {
    if (!account.filed_under.empty())
      fmt::print("of the request that {} is the local root of:\n", account.filed_under);
    fmt::print("{}\n", AccountText(account));
    if (!account.why.empty()) fmt::print("unobserved: {}\n", account.why);
  }
  if (!source->hint.empty()) fmt::print(stderr, "{}\n", source->hint);
  if (source->tree.size() <= 1 && source->tree.total[0] == 0) return kFound;
  fmt::print("{}", RenderTop(source->tree, kTopRows, TerminalWidth()));
  return kFine;
}

int ShowTrace(const Context& context, const TraceOptions& options, std::vector<Span> spans) {
  auto profiled = AskProfiled(context, options);
  if (!profiled) return Fail(profiled.error());
  const std::string hint = profiled->hint;
  auto accounts = AskAccounts(context, options.id, "");
  if (!accounts) return Fail(accounts.error());
  fmt::print(
      "{}", Waterfall(std::move(spans), *std::move(profiled), *std::move(accounts), TerminalWidth())
                .Draw(context.color));
  if (!hint.empty()) fmt::print(stderr, "{}\n", hint);
  return kFine;
}

int RunTrace(const Context& context, const TraceOptions& options) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (!options.span.empty()) parameters.emplace_back("span", options.span);
  const auto body = Ask(context, "GET", "/api/v1/traces/" + options.id, parameters);
  if (!body) {
    const int code = Fail(body.error());
    return body.error().code() == Code::kNotFound ? kFound : code;
  }
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  auto spans = ParseTrace(*body);
  if (!spans) return Fail(spans.error());
  return options.span.empty() ? ShowTrace(context, options, *std::move(spans))
                              : ShowSpan(context, options, *std::move(spans));
}

}  // namespace

void AddTrace(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "trace", "A trace as a waterfall, with what its spans were profiled doing",
                 {"wherefore trace 0102030405060708090a0b0c0d0e0f10",
                  "wherefore trace 0102030405060708090a0b0c0d0e0f10 --type wall",
                  "wherefore trace 0102030405060708090a0b0c0d0e0f10 --span 0102030405060708",
                  "wherefore trace 0102030405060708090a0b0c0d0e0f10 --json"});
  auto options = std::make_shared<TraceOptions>();
  command->add_option("id", options->id, "Trace id, 32 hex digits")->required();
  command->add_option("--type", options->type,
                      "cpu, wall, off_cpu, alloc_space, ... or a five-part id (default: what the "
                      "trace has, cpu first)");
  command->add_option("--span", options->span,
                      "Only this span (16 hex digits), with its functions as `top` lists them");
  command->callback([&context, options] {
    context.run = [&context, options] { return RunTrace(context, *options); };
  });
}

}  // namespace wherefore::cli
