// A statement of a person and its answer, as Store::Ask takes and gives them.
#pragma once

#include <cstdint>
#include <string>

#include "store/read.h"

namespace wherefore::store {

enum class SqlFormat : std::uint8_t {
  kRows,  // lines of JSON: the names, the types, then each row as an array
  kCsv,   // with a line of names
  kParquet
};

struct SqlQuestion {
  std::string statement;
  SqlFormat format = SqlFormat::kRows;
  std::uint32_t tenant = 0;
  TimeRange range{0, INT64_MAX};  // what the views hold
  std::int64_t most_rows = 10'000;
};

struct SqlAnswer {
  std::string body;
  bool cut = false;  // there are more rows; only of kRows, the others are refused then
};

}  // namespace wherefore::store
