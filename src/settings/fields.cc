#include "settings/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::settings {
namespace {

Error Expected(std::string what) {
  return {Code::kInvalid, "expected " + std::move(what)};
}

bool IsPlain(const Node& node) {
  return node.kind == Node::Kind::kScalar && !node.quoted;
}

std::optional<double> ParseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// The length of a unit in nanoseconds; removes it from the front.
std::optional<double> TakeUnit(std::string_view& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1},   {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3},
      {"ms", 1e6}, {"s", 1e9},  {"m", 60e9}, {"h", 3600e9}};
  for (const auto& [name, ns] : kUnits) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return ns;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ParseGoDuration(std::string_view text) {
  if (text == "0") return 0;
  double total = 0;
  do {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = ParseReal(text.substr(0, digits));
    text.remove_prefix(digits);
    const auto unit = TakeUnit(text);
    if (!number || !unit) return std::nullopt;
    total += *number * *unit;
  } while (!text.empty());
  constexpr double kLongest = 9.2e18;
  if (total > kLongest) return std::nullopt;
  return std::llround(total);
}

Result<double> ShareOf(const Node& node, bool number_is_percent) {
  const Error expected = Expected("a share such as 90%");
  if (node.kind != Node::Kind::kScalar) return expected;
  std::string_view text = node.text;
  const bool sign = text.ends_with('%');
  if (sign) text.remove_suffix(1);
  const auto number = ParseReal(text);
  if (!number || *number < 0 || *number > 100) return expected;
  return sign || number_is_percent || *number > 1 ? *number / 100 : *number;
}

}  // namespace

Result<std::string> ReadText(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return Expected("text");
  return node.text;
}

Result<bool> ReadFlag(const Node& node) {
  if (IsPlain(node)) {
    for (const char* word : {"true", "True", "TRUE"}) {
      if (node.text == word) return true;
    }
    for (const char* word : {"false", "False", "FALSE"}) {
      if (node.text == word) return false;
    }
  }
  return Expected("true or false");
}

Result<std::int64_t> ReadWhole(const Node& node, std::int64_t least, std::int64_t most) {
  if (IsPlain(node)) {
    const auto value = ParseInt(node.text);
    if (value && *value >= least && *value <= most) return *value;
  }
  return Expected(fmt::format("a whole number from {} to {}", least, most));
}

Result<double> ReadReal(const Node& node, double least, double most) {
  if (IsPlain(node)) {
    const auto value = ParseReal(node.text);
    if (value && *value >= least && *value <= most) return *value;
  }
  return Expected(fmt::format("a number from {} to {}", least, most));
}

Result<std::int64_t> ReadDuration(const Node& node) {
  if (node.kind == Node::Kind::kScalar) {
    if (const auto ns = ParseGoDuration(node.text)) return *ns;
    if (ParseReal(node.text)) {
      return Expected(fmt::format("a duration with its unit, such as {}s or 200ms", node.written));
    }
  }
  return Expected("a duration such as 200ms, 10s or 1m30s");
}

Result<std::int64_t> ReadBytes(const Node& node) {
  if (node.kind == Node::Kind::kScalar) {
    if (auto bytes = ParseBytes(node.text)) return *bytes;
  }
  return Expected("a size such as 512KB, 10MB or 64MiB");
}

Result<double> ReadShare(const Node& node) {
  return ShareOf(node, false);
}

Result<double> ReadPercent(const Node& node) {
  return ShareOf(node, true);
}

void FailUnknownKey(const Entry& entry, std::span<const std::string_view> known,
                    Problems& problems) {
  problems.Fail(entry.place,
                fmt::format("unknown key `{}`{}", entry.key, WhatExists(entry.key, known)));
}

bool ExpectMap(const Node& node, std::string_view key, Problems& problems) {
  if (node.is_null() || node.is_map()) return true;
  problems.Fail(node.place,
                fmt::format("`{}`: expected keys and values, not {}", key, node.Description()));
  return false;
}

bool ExpectList(const Node& node, std::string_view key, Problems& problems) {
  if (node.is_null() || node.kind == Node::Kind::kList) return true;
  problems.Fail(node.place, fmt::format("`{}`: expected a list, not {}", key, node.Description()));
  return false;
}

}  // namespace wherefore::settings
