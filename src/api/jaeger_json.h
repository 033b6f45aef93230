// Spans in Jaeger's JSON. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "query/stored_types.h"

namespace wherefore::api {

// One trace: {"traceID","spans","processes","warnings"}. `spans` are all of one trace.
void AppendJaegerTrace(JsonWriter& json, const std::vector<query::SpanRow>& spans);

// As Jaeger writes ids: 16 digits when the upper half is zero.
[[nodiscard]] std::string JaegerTraceId(const profile::TraceId& trace);

}  // namespace wherefore::api
