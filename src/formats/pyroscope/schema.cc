#include "formats/pyroscope/schema.h"

#include <array>
#include <string_view>

namespace wherefore::formats {
namespace {

using K = FieldKind;

constexpr Field Msg(std::string_view json, Tag tag, const Schema* schema, bool repeated = false) {
  return {json, tag, K::kMessage, repeated, schema};
}
constexpr Field Enum(std::string_view json, Tag tag, std::span<const std::string_view> names) {
  return {json, tag, K::kEnum, false, nullptr, names};
}
constexpr Field Text(std::string_view json, Tag tag) {
  return {json, tag, K::kString};
}
constexpr Field Texts(std::string_view json, Tag tag) {
  return {json, tag, K::kString, true};
}
constexpr Field Int(std::string_view json, Tag tag) {
  return {json, tag, K::kInt64};
}

constexpr std::array<std::string_view, 5> kFormats = {
    "PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
    "PROFILE_FORMAT_DOT", "PROFILE_FORMAT_PPROF"};
constexpr std::array<std::string_view, 2> kAggregations = {"TIME_SERIES_AGGREGATION_TYPE_SUM",
                                                           "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"};
constexpr std::array<std::string_view, 4> kExemplarTypes = {
    "EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE", "EXEMPLAR_TYPE_INDIVIDUAL",
    "EXEMPLAR_TYPE_SPAN"};
constexpr std::array<std::string_view, 3> kHeatmapTypes = {
    "HEATMAP_QUERY_TYPE_UNSPECIFIED", "HEATMAP_QUERY_TYPE_INDIVIDUAL", "HEATMAP_QUERY_TYPE_SPAN"};

// Requests.
const Field kLocationFields[] = {Text("name", 1)};
const Schema kLocation{kLocationFields};
const Field kStackSelectorFields[] = {Msg("callSite", 1, &kLocation, true)};
const Schema kStackSelector{kStackSelectorFields};

const Field kProfileTypesFields[] = {Int("start", 1), Int("end", 2)};
const Field kLabelNamesFields[] = {Texts("matchers", 1), Int("start", 2), Int("end", 3)};
const Field kLabelValuesFields[] = {Text("name", 1), Texts("matchers", 2), Int("start", 3),
                                    Int("end", 4)};
const Field kSeriesFields[] = {Texts("matchers", 1), Texts("labelNames", 2), Int("start", 3),
                               Int("end", 4)};
const Field kStacktracesFields[] = {Text("profileTypeID", 1),
                                    Text("labelSelector", 2),
                                    Int("start", 3),
                                    Int("end", 4),
                                    Int("maxNodes", 5),
                                    Enum("format", 6, kFormats),
                                    Msg("stackTraceSelector", 7, &kStackSelector),
                                    Texts("profileIdSelector", 8),
                                    Texts("traceIdSelector", 10),
                                    Texts("spanSelector", 11)};
const Schema kStacktraces{kStacktracesFields};
const Field kSpanProfileFields[] = {Text("profileTypeID", 1),
                                    Text("labelSelector", 2),
                                    Texts("spanSelector", 3),
                                    Int("start", 4),
                                    Int("end", 5),
                                    Int("maxNodes", 6),
                                    Enum("format", 7, kFormats)};
const Field kMergeProfileFields[] = {Text("profileTypeID", 1),
                                     Text("labelSelector", 2),
                                     Int("start", 3),
                                     Int("end", 4),
                                     Int("maxNodes", 5),
                                     Msg("stackTraceSelector", 6, &kStackSelector),
                                     Texts("profileIdSelector", 7),
                                     Texts("traceIdSelector", 8)};
const Field kSelectSeriesFields[] = {Text("profileTypeID", 1),
                                     Text("labelSelector", 2),
                                     Int("start", 3),
                                     Int("end", 4),
                                     Texts("groupBy", 5),
                                     {"step", 6, K::kDouble},
                                     Enum("aggregation", 7, kAggregations),
                                     Msg("stackTraceSelector", 8, &kStackSelector),
                                     Int("limit", 9),
                                     Enum("exemplarType", 10, kExemplarTypes)};
const Field kHeatmapFields[] = {Text("profileTypeID", 1),
                                Text("labelSelector", 2),
                                Int("start", 3),
                                Int("end", 4),
                                {"step", 5, K::kDouble},
                                Texts("groupBy", 6),
                                Enum("queryType", 7, kHeatmapTypes),
                                Enum("exemplarType", 8, kExemplarTypes),
                                Int("limit", 9)};
const Field kDiffFields[] = {Msg("left", 1, &kStacktraces), Msg("right", 2, &kStacktraces)};
const Field kAnalyzeFields[] = {Int("start", 2), Int("end", 3), Text("query", 4)};

// Responses.
const Field kProfileTypeFields[] = {Text("ID", 1),         Text("name", 2),
                                    Text("sampleType", 4), Text("sampleUnit", 5),
                                    Text("periodType", 6), Text("periodUnit", 7)};
const Schema kProfileType{kProfileTypeFields};
const Field kProfileTypesAnswerFields[] = {Msg("profileTypes", 1, &kProfileType, true)};
const Field kNamesAnswerFields[] = {Texts("names", 1)};
const Field kLabelPairFields[] = {Text("name", 1), Text("value", 2)};
const Schema kLabelPair{kLabelPairFields};
const Field kLabelsFields[] = {Msg("labels", 1, &kLabelPair, true)};
const Schema kLabels{kLabelsFields};
const Field kSeriesAnswerFields[] = {Msg("labelsSet", 2, &kLabels, true)};
const Field kLevelFields[] = {{"values", 1, K::kInt64, true}};
const Schema kLevel{kLevelFields};
const Field kFlameGraphFields[] = {Texts("names", 1), Msg("levels", 2, &kLevel, true),
                                   Int("total", 3), Int("maxSelf", 4)};
const Schema kFlameGraph{kFlameGraphFields};
const Field kFlameGraphDiffFields[] = {Texts("names", 1),   Msg("levels", 2, &kLevel, true),
                                       Int("total", 3),     Int("maxSelf", 4),
                                       Int("leftTicks", 5), Int("rightTicks", 6)};
const Schema kFlameGraphDiff{kFlameGraphDiffFields};
const Field kDiffAnswerFields[] = {Msg("flamegraph", 1, &kFlameGraphDiff)};
const Field kExemplarFields[] = {Int("timestamp", 1),
                                 Text("profileId", 2),
                                 Text("spanId", 3),
                                 Int("value", 4),
                                 Msg("labels", 5, &kLabelPair, true),
                                 Text("traceId", 6)};
const Schema kExemplar{kExemplarFields};
const Field kPointFields[] = {
    {"value", 1, K::kDouble}, Int("timestamp", 2), Msg("exemplars", 4, &kExemplar, true)};
const Schema kPoint{kPointFields};
const Field kTimeSeriesFields[] = {Msg("labels", 1, &kLabelPair, true),
                                   Msg("points", 2, &kPoint, true)};
const Schema kTimeSeries{kTimeSeriesFields};
const Field kSelectSeriesAnswerFields[] = {Msg("series", 1, &kTimeSeries, true)};
const Field kSlotFields[] = {Int("timestamp", 1),
                             {"yMin", 2, K::kDouble, true},
                             {"counts", 3, K::kInt32, true},
                             Msg("exemplars", 4, &kExemplar, true)};
const Schema kSlot{kSlotFields};
const Field kHeatmapSeriesFields[] = {Msg("labels", 1, &kLabelPair, true),
                                      Msg("slots", 2, &kSlot, true)};
const Schema kHeatmapSeries{kHeatmapSeriesFields};
const Field kHeatmapAnswerFields[] = {Msg("series", 1, &kHeatmapSeries, true)};
const Field kStatsFields[] = {
    {"dataIngested", 1, K::kBool}, Int("oldestProfileTime", 2), Int("newestProfileTime", 3)};

// pprof.
const Field kValueTypeFields[] = {Int("type", 1), Int("unit", 2)};
const Schema kValueType{kValueTypeFields};
const Field kLabelFields[] = {Int("key", 1), Int("str", 2), Int("num", 3), Int("numUnit", 4)};
const Schema kLabel{kLabelFields};
const Field kSampleFields[] = {{"locationId", 1, K::kUint64, true},
                               {"value", 2, K::kInt64, true},
                               Msg("label", 3, &kLabel, true)};
const Schema kSample{kSampleFields};
const Field kMappingFields[] = {{"id", 1, K::kUint64},
                                {"memoryStart", 2, K::kUint64},
                                {"memoryLimit", 3, K::kUint64},
                                {"fileOffset", 4, K::kUint64},
                                Int("filename", 5),
                                Int("buildId", 6),
                                {"hasFunctions", 7, K::kBool},
                                {"hasFilenames", 8, K::kBool},
                                {"hasLineNumbers", 9, K::kBool},
                                {"hasInlineFrames", 10, K::kBool}};
const Schema kMapping{kMappingFields};
const Field kLineFields[] = {{"functionId", 1, K::kUint64}, Int("line", 2), Int("column", 3)};
const Schema kLine{kLineFields};
const Field kPprofLocationFields[] = {{"id", 1, K::kUint64},
                                      {"mappingId", 2, K::kUint64},
                                      {"address", 3, K::kUint64},
                                      Msg("line", 4, &kLine, true),
                                      {"isFolded", 5, K::kBool}};
const Schema kPprofLocation{kPprofLocationFields};
const Field kFunctionFields[] = {{"id", 1, K::kUint64},
                                 Int("name", 2),
                                 Int("systemName", 3),
                                 Int("filename", 4),
                                 Int("startLine", 5)};
const Schema kFunction{kFunctionFields};
const Field kPprofFields[] = {Msg("sampleType", 1, &kValueType, true),
                              Msg("sample", 2, &kSample, true),
                              Msg("mapping", 3, &kMapping, true),
                              Msg("location", 4, &kPprofLocation, true),
                              Msg("function", 5, &kFunction, true),
                              Texts("stringTable", 6),
                              Int("dropFrames", 7),
                              Int("keepFrames", 8),
                              Int("timeNanos", 9),
                              Int("durationNanos", 10),
                              Msg("periodType", 11, &kValueType),
                              Int("period", 12),
                              {"comment", 13, K::kInt64, true},
                              Int("defaultSampleType", 14)};
const Schema kPprof{kPprofFields};
const Field kPprofAnswerFields[] = {Msg("profile", 1, &kPprof)};
const Schema kPprofAnswer{kPprofAnswerFields};
const Field kStacktracesAnswerFields[] = {Msg("flamegraph", 1, &kFlameGraph),
                                          {"tree", 2, K::kBytes},
                                          Text("dot", 3),
                                          Msg("pprof", 5, &kPprofAnswer)};
const Field kSpanProfileAnswerFields[] = {Msg("flamegraph", 1, &kFlameGraph),
                                          {"tree", 2, K::kBytes}};

// Ad hoc profiles.
const Field kUploadFields[] = {Text("name", 1), Text("profile", 2), Int("maxNodes", 3)};
const Field kAdHocGetFields[] = {Text("id", 1), Text("profileType", 2), Int("maxNodes", 3)};
const Field kAdHocProfileFields[] = {
    Text("id", 1),          Text("name", 2),          Int("uploadedAt", 3),
    Text("profileType", 4), Texts("profileTypes", 5), Text("flamebearerProfile", 6)};
const Field kListedFields[] = {Text("id", 1), Text("name", 2), Int("uploadedAt", 3)};
const Schema kListed{kListedFields};
const Field kAdHocListFields[] = {Msg("profiles", 1, &kListed, true)};
const Field kAdHocDiffFields[] = {Text("leftId", 1), Text("rightId", 2), Text("profileType", 3),
                                  Int("maxNodes", 4)};
const Field kAdHocDiffAnswerFields[] = {Texts("profileTypes", 1), Text("flamebearerProfile", 2)};

const Schema kNothing{};

}  // namespace

const Schema& RequestSchema(QuerierMethod method) {
  static const std::array<Schema, 12> kAll = {Schema{kProfileTypesFields},
                                              Schema{kLabelNamesFields},
                                              Schema{kLabelValuesFields},
                                              Schema{kSeriesFields},
                                              Schema{kStacktracesFields},
                                              Schema{kSpanProfileFields},
                                              Schema{kMergeProfileFields},
                                              Schema{kSelectSeriesFields},
                                              Schema{kHeatmapFields},
                                              Schema{kDiffFields},
                                              kNothing,
                                              Schema{kAnalyzeFields}};
  return kAll.at(static_cast<std::size_t>(method));
}

const Schema& ResponseSchema(QuerierMethod method) {
  static const std::array<Schema, 12> kAll = {Schema{kProfileTypesAnswerFields},
                                              Schema{kNamesAnswerFields},
                                              Schema{kNamesAnswerFields},
                                              Schema{kSeriesAnswerFields},
                                              Schema{kStacktracesAnswerFields},
                                              Schema{kSpanProfileAnswerFields},
                                              Schema{kPprofFields},
                                              Schema{kSelectSeriesAnswerFields},
                                              Schema{kHeatmapAnswerFields},
                                              Schema{kDiffAnswerFields},
                                              Schema{kStatsFields},
                                              kNothing};
  return kAll.at(static_cast<std::size_t>(method));
}

const Schema& PprofSchema() {
  return kPprof;
}
const Schema& AdHocUploadSchema() {
  static const Schema kSchema{kUploadFields};
  return kSchema;
}
const Schema& AdHocGetSchema() {
  static const Schema kSchema{kAdHocGetFields};
  return kSchema;
}
const Schema& AdHocProfileSchema() {
  static const Schema kSchema{kAdHocProfileFields};
  return kSchema;
}
const Schema& AdHocListSchema() {
  static const Schema kSchema{kAdHocListFields};
  return kSchema;
}
const Schema& AdHocDiffSchema() {
  static const Schema kSchema{kAdHocDiffFields};
  return kSchema;
}
const Schema& AdHocDiffAnswerSchema() {
  static const Schema kSchema{kAdHocDiffAnswerFields};
  return kSchema;
}

}  // namespace wherefore::formats
