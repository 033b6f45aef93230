#include "formats/pyroscope/querier.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "formats/wire/json.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {
namespace {

// A field's name decides where it goes; a name means the same in every method.
struct Slot {
  std::string_view json;
  std::string QuerierRequest::* text = nullptr;
  std::vector<std::string> QuerierRequest::* texts = nullptr;
  std::int64_t QuerierRequest::* number = nullptr;
};
constexpr std::array kSlots = {
    Slot{.json = "profileTypeID", .text = &QuerierRequest::type},
    Slot{.json = "labelSelector", .text = &QuerierRequest::selector},
    Slot{.json = "matchers", .texts = &QuerierRequest::matchers},
    Slot{.json = "name", .text = &QuerierRequest::name},
    Slot{.json = "query", .text = &QuerierRequest::selector},
    Slot{.json = "labelNames", .texts = &QuerierRequest::label_names},
    Slot{.json = "start", .number = &QuerierRequest::start_ms},
    Slot{.json = "end", .number = &QuerierRequest::end_ms},
    Slot{.json = "maxNodes", .number = &QuerierRequest::max_nodes},
    Slot{.json = "format", .number = &QuerierRequest::format},
    Slot{.json = "profileIdSelector", .texts = &QuerierRequest::profile_ids},
    Slot{.json = "traceIdSelector", .texts = &QuerierRequest::trace_ids},
    Slot{.json = "spanSelector", .texts = &QuerierRequest::spans},
    Slot{.json = "groupBy", .texts = &QuerierRequest::group_by},
    Slot{.json = "aggregation", .number = &QuerierRequest::aggregation},
    Slot{.json = "limit", .number = &QuerierRequest::limit},
    Slot{.json = "exemplarType", .number = &QuerierRequest::exemplar_type},
    Slot{.json = "queryType", .number = &QuerierRequest::query_type},
};

// StackTraceSelector: the names of its call site.
void ReadCallSite(Pbf selector, std::vector<std::string>& out) {
  while (selector.next()) {
    if (selector.tag_and_type() != LenKey(1)) {
      selector.skip();
      continue;
    }
    Pbf location = Reader(GetView(selector));
    std::string name;
    while (location.next()) {
      if (location.tag_and_type() == LenKey(1)) {
        name = GetView(location);
      } else {
        location.skip();
      }
    }
    out.push_back(std::move(name));
  }
}

// Reads the current field of `r`, or skips it.
void ReadField(Pbf& r, const Schema& schema, QuerierRequest& out) {
  const auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                                  [&](const Field& f) { return f.tag == r.tag(); });
  if (field == schema.fields.end()) return r.skip();
  const auto key = static_cast<std::uint32_t>(r.tag_and_type());
  if (field->kind == FieldKind::kMessage && key == LenKey(field->tag)) {
    return ReadCallSite(Reader(GetView(r)), out.call_site);
  }
  if (field->kind == FieldKind::kDouble && key == Fixed64Key(field->tag)) {
    out.step_seconds = r.get_double();
    return;
  }
  const auto* const slot = std::find_if(kSlots.begin(), kSlots.end(),
                                        [&](const Slot& s) { return s.json == field->json; });
  if (slot == kSlots.end()) return r.skip();
  if (slot->number != nullptr && key == VarintKey(field->tag)) {
    out.*slot->number = static_cast<std::int64_t>(r.get_uint64());
  } else if (slot->text != nullptr && key == LenKey(field->tag)) {
    out.*slot->text = GetView(r);
  } else if (slot->texts != nullptr && key == LenKey(field->tag)) {
    (out.*slot->texts).emplace_back(GetView(r));
  } else {
    r.skip();
  }
}

QuerierRequest ReadRequest(Pbf r, const Schema& schema) {
  QuerierRequest out;
  while (r.next()) ReadField(r, schema, out);
  return out;
}

// Calls `read` with the message in its binary form.
template <typename T, typename Read>
Result<T> Decode(std::string_view body, bool json, const Schema& schema, Read&& read) {
  std::string binary;
  if (json) {
    WHEREFORE_ASSIGN_OR_RETURN(binary, JsonToBinary(body.empty() ? "{}" : body, schema));
    body = binary;
  }
  try {
    return read(Reader(body));
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("the request is not protobuf: {}", e.what()));
  }
}

void AddLabels(PbfWriter& w, Tag tag, const LabelPairs& labels) {
  for (const auto& [name, value] : labels) {
    PbfWriter pair(w, tag);
    pair.add_string(1, name);
    if (!value.empty()) pair.add_string(2, value);
  }
}

void AddGraph(PbfWriter& w, const FlameGraph& graph) {
  PbfWriter g(w, 1);
  for (const std::string& name : graph.names) g.add_string(1, name);
  for (const auto& level : graph.levels) {
    PbfWriter l(g, 2);
    l.add_packed_int64(1, level.begin(), level.end());
  }
  AddInt(g, 3, graph.total);
  AddInt(g, 4, graph.max_self);
  if (graph.is_diff) {
    AddInt(g, 5, graph.left_ticks);
    AddInt(g, 6, graph.right_ticks);
  }
}

void AddExemplars(PbfWriter& w, const std::vector<Exemplar>& exemplars) {
  for (const Exemplar& e : exemplars) {
    PbfWriter x(w, 4);
    AddInt(x, 1, e.time_ms);
    AddText(x, 2, e.profile_id);
    AddText(x, 3, e.span_id);
    AddInt(x, 4, e.value);
    AddLabels(x, 5, e.labels);
    AddText(x, 6, e.trace_id);
  }
}

}  // namespace

Result<QuerierRequest> DecodeQuerierRequest(QuerierMethod method, std::string_view body,
                                            bool json) {
  const Schema& schema = RequestSchema(method);
  return Decode<QuerierRequest>(body, json, schema, [&](Pbf r) { return ReadRequest(r, schema); });
}

Result<DiffRequest> DecodeDiffRequest(std::string_view body, bool json) {
  return Decode<DiffRequest>(body, json, RequestSchema(QuerierMethod::kDiff), [](Pbf r) {
    const Schema& side = RequestSchema(QuerierMethod::kSelectMergeStacktraces);
    DiffRequest out;
    while (r.next()) {
      switch (static_cast<std::uint32_t>(r.tag_and_type())) {
        case LenKey(1):
          out.left = ReadRequest(Reader(GetView(r)), side);
          break;
        case LenKey(2):
          out.right = ReadRequest(Reader(GetView(r)), side);
          break;
        default:
          r.skip();
      }
    }
    return out;
  });
}

std::string EncodeProfileTypes(const std::vector<std::string>& ids) {
  constexpr std::array<Tag, 5> kParts = {2, 4, 5, 6, 7};
  std::string out;
  PbfWriter w(out);
  for (const std::string& id : ids) {
    PbfWriter type(w, 1);
    type.add_string(1, id);
    std::string_view rest = id;
    for (const Tag tag : kParts) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      AddText(type, tag, rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

std::string EncodeNames(const std::vector<std::string>& names) {
  std::string out;
  PbfWriter w(out);
  for (const std::string& name : names) w.add_string(1, name);
  return out;
}

std::string EncodeLabelSets(const std::vector<LabelPairs>& sets) {
  std::string out;
  PbfWriter w(out);
  for (const LabelPairs& set : sets) {
    PbfWriter labels(w, 2);
    AddLabels(labels, 1, set);
  }
  return out;
}

std::string EncodeStacktraces(const Stacktraces& answer) {
  std::string out;
  PbfWriter w(out);
  if (answer.graph) AddGraph(w, *answer.graph);
  AddText(w, 2, answer.tree);
  AddText(w, 3, answer.dot);
  if (!answer.pprof.empty()) {
    PbfWriter pprof(w, 5);
    pprof.add_message(1, answer.pprof);
  }
  return out;
}

std::string EncodeDiffAnswer(const FlameGraph& graph) {
  std::string out;
  PbfWriter w(out);
  AddGraph(w, graph);
  return out;
}

std::string EncodeTimeSeries(const std::vector<TimeSeries>& series) {
  std::string out;
  PbfWriter w(out);
  for (const TimeSeries& s : series) {
    PbfWriter one(w, 1);
    AddLabels(one, 1, s.labels);
    for (const TimePoint& p : s.points) {
      PbfWriter point(one, 2);
      if (p.value != 0) point.add_double(1, p.value);
      AddInt(point, 2, p.time_ms);
      AddExemplars(point, p.exemplars);
    }
  }
  return out;
}

std::string EncodeHeatmap(const std::vector<HeatmapSeries>& series) {
  std::string out;
  PbfWriter w(out);
  for (const HeatmapSeries& s : series) {
    PbfWriter one(w, 1);
    AddLabels(one, 1, s.labels);
    for (const HeatmapSlot& slot : s.slots) {
      PbfWriter cell(one, 2);
      AddInt(cell, 1, slot.time_ms);
      cell.add_packed_double(2, slot.y_min.begin(), slot.y_min.end());
      cell.add_packed_int32(3, slot.counts.begin(), slot.counts.end());
      AddExemplars(cell, slot.exemplars);
    }
  }
  return out;
}

std::string EncodeProfileStats(const ProfileStats& stats) {
  std::string out;
  PbfWriter w(out);
  if (stats.data_ingested) w.add_bool(1, true);
  AddInt(w, 2, stats.oldest_ms);
  AddInt(w, 3, stats.newest_ms);
  return out;
}

std::string QuerierJson(QuerierMethod method, std::string_view response) {
  return BinaryToJson(response, ResponseSchema(method));
}

std::string EncodePprofOfTree(const profile::FlameTree& tree, std::string_view type_id,
                              std::int64_t time_ns) {
  std::vector<std::string> strings = {""};
  const auto text = [&](std::string_view t) {
    if (t.empty()) return std::int64_t{0};
    strings.emplace_back(t);
    return static_cast<std::int64_t>(strings.size() - 1);
  };
  std::array<std::string_view, 5> parts;
  for (std::string_view& part : parts) {
    const std::size_t end = std::min(type_id.find(':'), type_id.size());
    part = type_id.substr(0, end);
    type_id.remove_prefix(std::min(end + 1, type_id.size()));
  }
  std::string out;
  PbfWriter w(out);
  const auto value_type = [&](Tag tag, std::string_view type, std::string_view unit) {
    PbfWriter v(w, tag);
    v.add_int64(1, text(type));
    v.add_int64(2, text(unit));
  };
  value_type(1, parts[1], parts[2]);
  value_type(11, parts[3], parts[4]);
  // Function and location share an id: the function's index in the tree's table.
  for (std::uint32_t f = 1; f < tree.functions.size(); ++f) {
    PbfWriter location(w, 4);
    location.add_uint64(1, f);
    PbfWriter(location, 4).add_uint64(1, f);
    location.commit();
    PbfWriter function(w, 5);
    function.add_uint64(1, f);
    function.add_int64(2, text(tree.functions[f].name));
    function.add_int64(4, text(tree.functions[f].file));
    function.add_int64(5, tree.functions[f].start_line);
  }
  std::vector<std::uint64_t> path;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    path.resize(tree.depth[i] - 1);
    path.push_back(tree.function[i]);
    if (tree.self[i] == 0) continue;
    PbfWriter sample(w, 2);
    sample.add_packed_uint64(1, path.rbegin(), path.rend());
    sample.add_packed_int64(2, &tree.self[i], &tree.self[i] + 1);
  }
  for (const std::string& s : strings) w.add_string(6, s);
  AddInt(w, 9, time_ns);
  return out;
}

}  // namespace wherefore::formats
