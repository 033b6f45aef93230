// Requests of Pyroscope's query services, binary and JSON; saved flame graphs; tags of a trace
// search.
#include "formats/fuzzing.h"
#include "formats/jaeger_tags.h"
#include "formats/pyroscope/adhoc.h"
#include "formats/pyroscope/querier.h"
#include "formats/pyroscope/time.h"
#include "formats/trees/flamebearer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const bool json : {false, true}) {
    for (int method = 0; method <= static_cast<int>(QuerierMethod::kAnalyzeQuery); ++method) {
      (void)DecodeQuerierRequest(static_cast<QuerierMethod>(method), input, json);
    }
    for (int method = 0; method <= static_cast<int>(AdHocMethod::kDiff); ++method) {
      (void)DecodeAdHocRequest(static_cast<AdHocMethod>(method), input, json);
    }
    (void)DecodeDiffRequest(input, json);
  }
  (void)ParseJaegerTags(input);
  (void)ParsePyroscopeTime(input, 1'700'000'000'000'000'000);
  if (const auto tree = DecodeFlamebearer(input)) {
    // Encoding and decoding again changes nothing.
    const std::string text = EncodeFlamebearer({.graph = ToFlameGraph(*tree)});
    const auto again = DecodeFlamebearer(text);
    RequireOk(again, "a written flame graph can be read");
    Require(again->total == tree->total && again->self == tree->self, "values come back");
  }
  return 0;
}
