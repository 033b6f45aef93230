// What changed between two sides, as JSON: shared by cards of what got worse and by regressions.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/source_files.h"
#include "base/json_writer.h"
#include "query/worse.h"

namespace wherefore::api {

// The text of a line, as far as the file is here; each file is read once.
class Lines {
 public:
  explicit Lines(const SourceFiles& files) : files_(files) {}

  std::string At(const std::string& file, std::int64_t line);

 private:
  const SourceFiles& files_;
  std::map<std::string, std::string> texts_;
};

// How the difference is compared: request or share.
[[nodiscard]] std::string ModeOf(const query::ServiceChange& change);
// The difference on the command line, and on the page.
[[nodiscard]] std::string CommandOf(const query::ServiceChange& change);
[[nodiscard]] std::string AddressOf(const query::ServiceChange& change);

// Fields into an object that is open.
void AppendSides(JsonWriter& json, const query::ServiceChange& change);
void AppendStatistics(JsonWriter& json, const query::TestedDifference& tested);
void AppendOwn(JsonWriter& json, const query::ServiceChange::Told& told, Lines& lines);
// Arrays.
void AppendFunctions(JsonWriter& json, std::string_view key,
                     const std::vector<profile::FlameFunction>& functions);
void AppendTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts);
// An object.
void AppendTold(JsonWriter& json, const query::ServiceChange::Told& told, Lines& lines);

}  // namespace wherefore::api
