#include "cli/mcp/excerpt.h"

#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace wherefore::cli {
namespace {

struct Step {
  std::size_t items;  // of a list
  std::size_t text;   // bytes of a text
};
constexpr std::array kSteps = {Step{200, 2000}, Step{100, 1000}, Step{60, 600}, Step{40, 400},
                               Step{25, 300},   Step{15, 300},   Step{10, 200}, Step{6, 200},
                               Step{4, 150},    Step{2, 100},    Step{1, 80}};
constexpr int kDeepest = 30;  // our answers have a depth of 10

// At most so many bytes, no character cut in two.
std::string_view Prefix(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// One attempt at one step.
class Copy {
 public:
  Copy(const ExcerptOptions& options, Step step) : options_(options), step_(step) {}

  std::string Of(const JsonValue& answer) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject();
    Fields(json, answer, "", 0);
    const std::vector<std::string> left_out = LeftOut();
    if (!left_out.empty()) {
      json.Key("left_out").BeginArray();
      for (const std::string& one : left_out) json.String(one);
      json.EndArray();
    }
    json.EndObject();
    return out;
  }

 private:
  struct Cut {
    std::size_t of = 0;     // items there were, in the longest list
    std::size_t lists = 0;  // of this name that were cut
  };

  void Fields(JsonWriter& json, const JsonValue& value, const std::string& path, int depth) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return;
    for (const auto& [key, field] : object) {
      if (options_.without.contains(key)) continue;
      json.Key(key);
      Value(json, field, path.empty() ? std::string(key) : fmt::format("{}.{}", path, key), depth);
    }
  }

  void Value(JsonWriter& json, const JsonValue& value, const std::string& path, int depth) {
    if (depth > kDeepest) {
      json.Null();
      return;
    }
    switch (value.type()) {
      case simdjson::dom::element_type::OBJECT:
        json.BeginObject();
        Fields(json, value, path, depth + 1);
        json.EndObject();
        return;
      case simdjson::dom::element_type::ARRAY:
        return Items(json, value, path, depth + 1);
      case simdjson::dom::element_type::STRING:
        return Text(json, JsonText(value), path);
      default:
        json.Raw(simdjson::minify(value));
    }
  }

  void Items(JsonWriter& json, const JsonValue& value, const std::string& path, int depth) {
    simdjson::dom::array items;
    if (value.get(items) != simdjson::SUCCESS) return;
    json.BeginArray();
    std::size_t count = 0;
    for (const JsonValue& item : items) {
      if (count++ < step_.items) Value(json, item, path, depth);
    }
    json.EndArray();
    if (count <= step_.items) return;
    Cut& cut = cuts_[path];
    cut.of = std::max(cut.of, count);
    ++cut.lists;
  }

  void Text(JsonWriter& json, const std::string& text, const std::string& path) {
    if (text.size() <= step_.text) {
      json.String(text);
      return;
    }
    json.String(std::string(Prefix(text, step_.text)) + "…");
    texts_.insert(path);
  }

  [[nodiscard]] std::vector<std::string> LeftOut() const {
    constexpr std::size_t kMostLines = 8;
    std::vector<std::string> lines;
    for (const auto& [path, cut] : cuts_) {
      lines.push_back(cut.lists == 1
                          ? fmt::format("{}: {} of {}", path, cut.of - step_.items, cut.of)
                          : fmt::format("{}: all but the first {} of each list, in {} lists", path,
                                        step_.items, cut.lists));
    }
    for (const std::string& path : texts_)
      lines.push_back(fmt::format("{}: texts behind their first {} bytes", path, step_.text));
    if (lines.size() > kMostLines) {
      const std::size_t more = lines.size() - kMostLines;
      lines.resize(kMostLines);
      lines.push_back(fmt::format("and parts of {} other fields", more));
    }
    return lines;
  }

  const ExcerptOptions& options_;
  const Step step_;
  std::map<std::string, Cut> cuts_;  // by the path of the list
  std::set<std::string> texts_;
};

}  // namespace

std::string ExcerptOf(const JsonValue& answer, const ExcerptOptions& options) {
  for (const Step& step : kSteps) {
    std::string json = Copy(options, step).Of(answer);
    if (options.fits(json)) return json;
  }
  return R"({"left_out":["everything"]})";
}

}  // namespace wherefore::cli
