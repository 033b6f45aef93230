// Reads the server's JSON answers: text and exact numbers. Missing fields are empty or 0.
#pragma once

#include <simdjson.h>

#include <string>

#include "base/result.h"
#include "base/text.h"

namespace wherefore::cli {

using JsonValue = simdjson::dom::element;
using JsonLookup = simdjson::simdjson_result<JsonValue>;

// For an answer that is not the JSON we expect.
[[nodiscard]] inline Error DamagedAnswer() {
  return {Code::kCorrupt, "the server's answer is damaged"};
}

inline std::string JsonText(const JsonValue& value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}
inline std::string JsonText(const JsonLookup& found) {
  return found.error() == simdjson::SUCCESS ? JsonText(found.value_unsafe()) : std::string();
}

// Numbers beyond 2^53 are sent as decimal strings.
inline std::int64_t JsonInt(const JsonValue& value) {
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  return ParseInt(JsonText(value)).value_or(0);
}
inline std::int64_t JsonInt(const JsonLookup& found) {
  return found.error() == simdjson::SUCCESS ? JsonInt(found.value_unsafe()) : 0;
}

// 0 where there is none.
inline double JsonNumber(const JsonLookup& found) {
  double number = 0;
  if (found.error() != simdjson::SUCCESS) return 0;
  if (found.value_unsafe().get(number) == simdjson::SUCCESS) return number;
  return static_cast<double>(JsonInt(found));
}

}  // namespace wherefore::cli
