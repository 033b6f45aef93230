// A JSON reader: the demo's hot spot. Version 2 of it (DEMO_VERSION) has a regression that looked
// harmless in review.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

struct Json {
  enum class Kind { kNull, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> fields;

  // A null where there is no such field.
  [[nodiscard]] const Json& operator[](const std::string& name) const;
};

// Throws std::runtime_error with the position of the first thing that is wrong.
Json ParseJson(std::string_view text);

std::string WriteJson(const Json& value);

}  // namespace demo
