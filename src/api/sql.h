// What a person asks in SQL, and the answer, as the owner of the store takes and gives them
// (Operations::sql). Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "query/stored_types.h"

namespace wherefore::api {

enum class SqlForm : std::uint8_t { kRows, kCsv, kParquet };

struct SqlAsked {
  std::string statement;
  SqlForm form = SqlForm::kRows;
  std::uint32_t tenant = 0;
  query::TimeRange range{0, INT64_MAX};
  std::int64_t most_rows = 0;
};

struct SqlAnswered {
  std::string body;  // kRows: lines of JSON: the names, the types, then every row as an array
  bool cut = false;  // there are more rows
};

using AnswerSql = std::function<Result<SqlAnswered>(const SqlAsked&, const CancelToken&)>;

// kRows as the API gives it: {"columns":[{"name","type"}],"rows":[[...]],"cut":false}. Whole
// numbers beyond 2^53 become texts, as JsonWriter has them.
[[nodiscard]] Result<std::string> SqlRowsAsJson(const SqlAnswered& answer);

}  // namespace wherefore::api
