// Answers of the API in the form that a conversation reads best: rows instead of columns. Pure; any
// thread. Failure: an answer that is not what the API sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "cli/json.h"

namespace wherefore::cli {

// The frames of a flame graph's columns, from the top down: [depth, function, total, self].
[[nodiscard]] Result<std::string> FramesOf(std::string_view body);
// One row for each span, the longest first, of the accounting of a trace and its spans.
[[nodiscard]] std::string AccountingRowsOf(const JsonValue& accounting, const JsonValue& spans);
// What each line of a function costs, with its text where `source` has it.
void AppendLines(JsonWriter& json, const JsonValue& function,
                 const std::vector<std::string>& source);

}  // namespace wherefore::cli
