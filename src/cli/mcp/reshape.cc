#include "cli/mcp/reshape.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace wherefore::cli {

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

namespace {

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

}  // namespace

std::string AccountingRowsOf(const JsonValue& accounting, const JsonValue& spans) {
  return AccountingRows(accounting, spans).Rows();
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

}  // namespace wherefore::cli
