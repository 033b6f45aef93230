// FlameTree -> speedscope's JSON, as an "evented" profile: its size grows with the number of nodes,
// not with nodes times depth.
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "formats/formats.h"

namespace wherefore::formats {

namespace {

// The units speedscope knows; it shows other values without one.
std::string_view SpeedscopeUnit(std::string_view unit) {
  for (const std::string_view known :
       {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}) {
    if (unit == known) return known;
  }
  return "none";
}

class EventWriter {
 public:
  EventWriter(const profile::FlameTree& tree, JsonWriter& json) : tree_(tree), json_(json) {}

  void WriteAll() {
    std::vector<Open> open;  // the path to the current node
    for (std::size_t node = 1; node < tree_.size(); ++node) {
      while (open.size() >= tree_.depth[node]) Close(open);
      const std::int64_t at = open.empty() ? root_next_ : open.back().next;
      Event("O", node, at);
      open.push_back({node, at + tree_.total[node], at});
    }
    while (!open.empty()) Close(open);
  }

 private:
  struct Open {
    std::size_t node;
    std::int64_t end;
    std::int64_t next;  // where the next child begins
  };

  // Children come first, a node's self value last.
  void Close(std::vector<Open>& open) {
    const Open last = open.back();
    open.pop_back();
    Event("C", last.node, last.end);
    (open.empty() ? root_next_ : open.back().next) = last.end;
  }
  void Event(std::string_view type, std::size_t node, std::int64_t at) {
    json_.BeginObject().Field("type", type).Field("frame", tree_.function[node]);
    // Always a plain number, also above 2^53: speedscope does not accept strings here.
    json_.Key("at").Raw(fmt::to_string(at)).EndObject();
  }

  const profile::FlameTree& tree_;
  JsonWriter& json_;
  std::int64_t root_next_ = 0;
};

}  // namespace

std::string EncodeSpeedscope(const profile::FlameTree& tree, std::string_view title) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.Field("name", title).Field("exporter", "wherefore").Field("activeProfileIndex", 0);
  json.Key("shared").BeginObject().Key("frames").BeginArray();
  for (const profile::FlameFunction& f : tree.functions) {
    json.BeginObject().Field("name", f.name);
    if (!f.file.empty()) json.Field("file", f.file);
    if (f.start_line > 0) json.Field("line", f.start_line);
    json.EndObject();
  }
  json.EndArray().EndObject();
  const std::int64_t total = tree.size() == 0 ? 0 : tree.total[0];
  json.Key("profiles").BeginArray().BeginObject();
  json.Field("type", "evented")
      .Field("name", tree.type.empty() ? title : std::string_view(tree.type));
  json.Field("unit", SpeedscopeUnit(tree.unit)).Field("startValue", 0);
  json.Key("endValue").Raw(fmt::to_string(total)).Key("events").BeginArray();
  EventWriter(tree, json).WriteAll();
  json.EndArray().EndObject().EndArray().EndObject();
  return out;
}

}  // namespace wherefore::formats
