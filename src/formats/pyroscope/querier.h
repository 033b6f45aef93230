// Messages of Pyroscope's query service: plain structs <-> bytes.
//
// Requests come as protobuf or proto3 JSON. Each method has its own field numbers for the same few
// parameters, so all of them decode into one struct. Responses are written as protobuf; QuerierJson
// converts one to JSON. Decoders refuse malformed bytes with kCorrupt. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/pyroscope/schema.h"
#include "formats/trees/flamebearer.h"

namespace wherefore::formats {

enum class MergeFormat : std::int64_t {
  kUnspecified = 0,
  kFlameGraph = 1,
  kTree = 2,
  kDot = 3,
  kPprof = 4
};
enum class ExemplarType : std::int64_t { kUnspecified = 0, kNone = 1, kIndividual = 2, kSpan = 3 };

struct QuerierRequest {
  std::string type;      // profileTypeID
  std::string selector;  // labelSelector
  std::vector<std::string> matchers;
  std::string name;
  std::vector<std::string> label_names;
  std::int64_t start_ms = 0;
  std::int64_t end_ms = 0;
  std::int64_t max_nodes = 0;          // 0: not given
  std::int64_t format = 0;             // MergeFormat, or an unknown number
  std::vector<std::string> call_site;  // root first
  std::vector<std::string> profile_ids;
  std::vector<std::string> trace_ids;
  std::vector<std::string> spans;
  std::vector<std::string> group_by;
  double step_seconds = 0;
  std::int64_t aggregation = 0;  // 0 sum, 1 average
  std::int64_t limit = 0;
  std::int64_t exemplar_type = 0;
  std::int64_t query_type = 0;
};
[[nodiscard]] Result<QuerierRequest> DecodeQuerierRequest(QuerierMethod method,
                                                          std::string_view body, bool json);
struct DiffRequest {
  QuerierRequest left;
  QuerierRequest right;
};
[[nodiscard]] Result<DiffRequest> DecodeDiffRequest(std::string_view body, bool json);

using LabelPairs = std::vector<std::pair<std::string, std::string>>;

// `ids` are five-part ids.
[[nodiscard]] std::string EncodeProfileTypes(const std::vector<std::string>& ids);
[[nodiscard]] std::string EncodeNames(const std::vector<std::string>& names);
[[nodiscard]] std::string EncodeLabelSets(const std::vector<LabelPairs>& sets);

// The answer of SelectMergeStacktraces or SelectMergeSpanProfile; whatever is set is written.
struct Stacktraces {
  std::optional<FlameGraph> graph;
  std::string tree;
  std::string dot;
  std::string pprof;
};
[[nodiscard]] std::string EncodeStacktraces(const Stacktraces& answer);
[[nodiscard]] std::string EncodeDiffAnswer(const FlameGraph& graph);

struct Exemplar {
  std::int64_t time_ms = 0;
  std::string profile_id;
  std::string span_id;
  std::string trace_id;
  std::int64_t value = 0;
  LabelPairs labels;
};
struct TimePoint {
  double value = 0;
  std::int64_t time_ms = 0;
  std::vector<Exemplar> exemplars;
};
struct TimeSeries {
  LabelPairs labels;
  std::vector<TimePoint> points;
};
[[nodiscard]] std::string EncodeTimeSeries(const std::vector<TimeSeries>& series);

struct HeatmapSlot {
  std::int64_t time_ms = 0;  // end of the slot
  std::vector<double> y_min;
  std::vector<std::int32_t> counts;
  std::vector<Exemplar> exemplars;
};
struct HeatmapSeries {
  LabelPairs labels;
  std::vector<HeatmapSlot> slots;
};
[[nodiscard]] std::string EncodeHeatmap(const std::vector<HeatmapSeries>& series);

struct ProfileStats {
  bool data_ingested = false;
  std::int64_t oldest_ms = 0;
  std::int64_t newest_ms = 0;
};
[[nodiscard]] std::string EncodeProfileStats(const ProfileStats& stats);

// Converts one of our responses to proto3 JSON.
[[nodiscard]] std::string QuerierJson(QuerierMethod method, std::string_view response);

// A tree as a pprof file with one sample type: functions without lines or addresses.
[[nodiscard]] std::string EncodePprofOfTree(const profile::FlameTree& tree,
                                            std::string_view type_id, std::int64_t time_ns);

}  // namespace wherefore::formats
