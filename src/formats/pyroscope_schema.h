// The shape of Pyroscope's query messages as data, for the JSON transcoder (otlp_json.h) and for
// the request decoder (pyroscope_querier.h): names as proto3 JSON writes them, numbers as on the
// wire.
#pragma once

#include <cstdint>

#include "formats/otlp_schema.h"

namespace wherefore::formats {

// Methods of querier.v1.QuerierService.
enum class QuerierMethod : std::uint8_t {
  kProfileTypes,
  kLabelNames,
  kLabelValues,
  kSeries,
  kSelectMergeStacktraces,
  kSelectMergeSpanProfile,
  kSelectMergeProfile,
  kSelectSeries,
  kSelectHeatmap,
  kDiff,
  kGetProfileStats,
  kAnalyzeQuery
};

[[nodiscard]] const Schema& RequestSchema(QuerierMethod method);
[[nodiscard]] const Schema& ResponseSchema(QuerierMethod method);
// A plain pprof file as a message.
[[nodiscard]] const Schema& PprofSchema();

// adhocprofiles.v1.AdHocProfileService and the small services beside it.
[[nodiscard]] const Schema& AdHocUploadSchema();
[[nodiscard]] const Schema& AdHocGetSchema();
[[nodiscard]] const Schema& AdHocProfileSchema();
[[nodiscard]] const Schema& AdHocListSchema();
[[nodiscard]] const Schema& AdHocDiffSchema();
[[nodiscard]] const Schema& AdHocDiffAnswerSchema();

}  // namespace wherefore::formats
