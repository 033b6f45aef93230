// Field numbers of pprof's profile.proto, and the attribute names its parts have in OTLP.
#pragma once

#include <string_view>

#include "formats/wire/protobuf.h"

namespace wherefore::formats::pprof {

namespace profile_field {
inline constexpr Tag kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                     kString = 6, kDropFrames = 7, kKeepFrames = 8, kTime = 9, kDuration = 10,
                     kPeriodType = 11, kPeriod = 12, kComment = 13, kDefaultSampleType = 14,
                     kDocUrl = 15;
}  // namespace profile_field
namespace value_type {
inline constexpr Tag kType = 1, kUnit = 2;
}  // namespace value_type
namespace sample {
inline constexpr Tag kLocation = 1, kValue = 2, kLabel = 3;
}  // namespace sample
namespace label {
inline constexpr Tag kKey = 1, kStr = 2, kNum = 3, kUnit = 4;
}  // namespace label
namespace mapping {
inline constexpr Tag kId = 1, kStart = 2, kLimit = 3, kOffset = 4, kFilename = 5, kBuildId = 6,
                     kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9,
                     kHasInlineFrames = 10;
}  // namespace mapping
namespace location {
inline constexpr Tag kId = 1, kMapping = 2, kAddress = 3, kLine = 4, kIsFolded = 5;
}  // namespace location
namespace line {
inline constexpr Tag kFunction = 1, kLine = 2, kColumn = 3;
}  // namespace line
namespace function {
inline constexpr Tag kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5;
}  // namespace function

inline constexpr std::string_view kDefaultSampleTypeKey = "pprof.scope.default_sample_type";
inline constexpr std::string_view kDropFramesKey = "pprof.profile.drop_frames";
inline constexpr std::string_view kKeepFramesKey = "pprof.profile.keep_frames";
inline constexpr std::string_view kDocUrlKey = "pprof.profile.doc_url";
inline constexpr std::string_view kCommentKey = "pprof.profile.comment";
inline constexpr std::string_view kIsFoldedKey = "pprof.location.is_folded";
inline constexpr std::string_view kGnuBuildIdKey = "process.executable.build_id.gnu";
inline constexpr std::string_view kGoBuildIdKey = "process.executable.build_id.go";
// In the order of mapping::kHasFunctions and the three after it.
inline constexpr std::string_view kMappingFlagKeys[] = {
    "pprof.mapping.has_functions", "pprof.mapping.has_filenames", "pprof.mapping.has_line_numbers",
    "pprof.mapping.has_inline_frames"};
inline constexpr std::string_view kTraceIdLabel = "trace_id";
inline constexpr std::string_view kSpanIdLabel = "span_id";

}  // namespace wherefore::formats::pprof
