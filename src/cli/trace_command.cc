// `trace`: a trace as a waterfall in the terminal, with the profile value of each span where there
// is one.

#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

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
    return Error(Code::kCorrupt, "the server's answer is damaged");
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

std::map<std::string, std::int64_t> ParseBySpan(const std::string& body, std::string& unit) {
  std::map<std::string, std::int64_t> out;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS) return out;
  unit = JsonText(root["unit"]);
  simdjson::dom::object spans;
  if (root["by_span"].get(spans) != simdjson::SUCCESS) return out;
  for (const auto& [key, value] : spans) out[std::string(key)] = JsonInt(value);
  return out;
}

class Waterfall {
 public:
  Waterfall(std::vector<Span> spans, std::map<std::string, std::int64_t> values, std::string unit,
            int width)
      : spans_(std::move(spans)),
        values_(std::move(values)),
        unit_(std::move(unit)),
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
    std::string out = fmt::format("{} spans, {}, from {}\n", spans_.size(),
                                  FormatDuration(end_ - begin_), FormatTime(begin_));
    // A damaged trace may loop; every span is drawn once.
    std::vector<char> drawn(spans_.size());
    struct Open {
      std::size_t span;
      int depth;
    };
    std::vector<Open> open;
    for (std::size_t k = roots.size(); k-- > 0;) open.push_back({roots[k], 0});
    for (std::size_t next = 0; !open.empty() || next < spans_.size();) {
      if (open.empty()) {  // spans that are each other's parents hang on no root
        if (drawn[next] == 0) open.push_back({next, 0});
        ++next;
        continue;
      }
      const Open at = open.back();
      open.pop_back();
      if (drawn[at.span]++ != 0) continue;
      out += Row(spans_[at.span], at.depth, color);
      const auto& children = spans_[at.span].children;
      for (std::size_t k = children.size(); k-- > 0;) open.push_back({children[k], at.depth + 1});
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
    std::string blocks;
    for (std::size_t i = 0; i < length; ++i) blocks += "█";
    if (color) blocks = fmt::format("\x1b[3{}m{}\x1b[0m", s.status == "error" ? 1 : 4, blocks);
    const auto value = values_.find(s.id);
    return fmt::format("{} {}{}{} {:>8}{}{}\n", label, std::string(from, ' '), blocks,
                       std::string(bar - from - length, ' '), FormatDuration(s.duration),
                       s.status == "error" ? " error" : "",
                       value == values_.end()
                           ? ""
                           : fmt::format("  {} profiled", FormatValue(value->second, unit_)));
  }

  std::vector<Span> spans_;
  std::map<std::string, std::int64_t> values_;
  std::string unit_;
  int width_;
  std::int64_t begin_ = INT64_MAX;
  std::int64_t end_ = INT64_MIN;
};

}  // namespace

void AddTrace(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "trace", "A trace as a waterfall, with what its spans were profiled doing",
                 {"wherefore trace 0102030405060708090a0b0c0d0e0f10",
                  "wherefore trace 0102030405060708090a0b0c0d0e0f10 --json"});
  auto id = std::make_shared<std::string>();
  command->add_option("id", *id, "Trace id, 32 hex digits")->required();
  command->callback([&context, id] {
    context.run = [&context, id]() -> int {
      const auto body = Ask(context, "GET", "/api/v1/traces/" + *id, {});
      if (!body)
        return body.error().code() == Code::kNotFound ? (Fail(body.error()), kFound)
                                                      : Fail(body.error());
      if (context.json) {
        fmt::print("{}\n", *body);
        return kFine;
      }
      auto spans = ParseTrace(*body);
      if (!spans) return Fail(spans.error());
      std::string unit;
      std::map<std::string, std::int64_t> values;
      if (const auto flame =
              Ask(context, "GET", "/api/v1/traces/" + *id + "/flame", {{"max_nodes", "1"}})) {
        values = ParseBySpan(*flame, unit);
      }
      fmt::print("{}", Waterfall(*std::move(spans), std::move(values), unit, TerminalWidth())
                           .Draw(context.color));
      return kFine;
    };
  });
}

}  // namespace wherefore::cli
