// Schemas of Pyroscope's query messages, for the JSON transcoder (wire/json.h) and the request
// decoder (pyroscope/querier.h): names as in proto3 JSON, numbers as on the wire.
#pragma once

#include <cstdint>

#include "formats/wire/schema.h"

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
// A pprof file as a message.
[[nodiscard]] const Schema& PprofSchema();

// adhocprofiles.v1.AdHocProfileService and related small services.
[[nodiscard]] const Schema& AdHocUploadSchema();
[[nodiscard]] const Schema& AdHocGetSchema();
[[nodiscard]] const Schema& AdHocProfileSchema();
[[nodiscard]] const Schema& AdHocListSchema();
[[nodiscard]] const Schema& AdHocDiffSchema();
[[nodiscard]] const Schema& AdHocDiffAnswerSchema();

}  // namespace wherefore::formats
