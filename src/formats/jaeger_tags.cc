#include "formats/jaeger_tags.h"

#include <simdjson.h>

#include <algorithm>

#include <fmt/format.h>

namespace wherefore::formats {
namespace {

constexpr std::string_view kSpace = " \t\n\r";

Error Bad(std::string_view text) {
  return {Code::kInvalid,
          fmt::format("tags '{}': expected a JSON object of texts, or key=value", text)};
}

Result<TagList> FromJson(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return Bad(text);
  TagList tags;
  for (const auto& [key, value] : object) {
    std::string_view string;
    if (value.get_string().get(string) == simdjson::SUCCESS) {
      tags.emplace_back(key, string);
    } else if (value.is_number() || value.is_bool()) {
      tags.emplace_back(key, simdjson::minify(value));
    } else {
      return Bad(text);
    }
  }
  return tags;
}

// Takes a word or a quoted string.
std::string TakeValue(std::string_view& rest) {
  std::string value;
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    while (!rest.empty() && rest[0] != '"') {
      if (rest[0] == '\\' && rest.size() > 1) rest.remove_prefix(1);
      value += rest[0];
      rest.remove_prefix(1);
    }
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
    return value;
  }
  const std::size_t end = std::min(rest.find_first_of(kSpace), rest.size());
  value = rest.substr(0, end);
  rest.remove_prefix(end);
  return value;
}

}  // namespace

Result<TagList> ParseJaegerTags(std::string_view text) {
  std::string_view rest = text;
  const auto skip_space = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
  };
  skip_space();
  if (rest.starts_with('{')) return FromJson(rest);
  TagList tags;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of("=: \t\n\r");
    if (end == 0 || end == std::string_view::npos || kSpace.find(rest[end]) != kSpace.npos) {
      return Bad(text);
    }
    std::string key(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    tags.emplace_back(std::move(key), TakeValue(rest));
    skip_space();
  }
  return tags;
}

}  // namespace wherefore::formats
