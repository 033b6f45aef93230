#include "insight/alerts/labels.h"

#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"

namespace wherefore::insight {

std::uint64_t FingerprintOf(const AlertLabels& labels) {
  // FNV-1a over names and values, each followed by 0xff.
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ 255U) * 1099511628211U;
  };
  for (const auto& [name, value] : labels) {
    add(name);
    add(value);
  }
  return hash;
}

std::string FingerprintText(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

namespace {

// "$labels.team" and "labels.team" -> "labels.team".
std::string_view NameIn(std::string_view inside) {
  std::string_view name = Trim(inside);
  if (name.starts_with('$')) name.remove_prefix(1);
  return name;
}

std::optional<std::string> ValueOf(std::string_view name, const TemplateValues& values) {
  if (name == "value") return values.value;
  if (name == "low") return values.low;
  if (name == "high") return values.high;
  if (name == "bound") return values.bound;
  constexpr std::string_view kLabels = "labels.";
  if (!name.starts_with(kLabels)) return std::nullopt;
  const auto label = values.labels.find(std::string(name.substr(kLabels.size())));
  return label == values.labels.end() ? std::string() : label->second;
}

// Calls visit(text, is_name) for what is between braces and what is not.
template <typename Visit>
void EachPart(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) {
      visit(text, false);
      return;
    }
    if (open > 0) visit(text.substr(0, open), false);
    visit(text.substr(open + 2, close - open - 2), true);
    text.remove_prefix(close + 2);
  }
}

}  // namespace

Result<> CheckTemplate(std::string_view text) {
  const AlertLabels none;
  std::string unknown;
  EachPart(text, [&](std::string_view part, bool is_name) {
    if (is_name && unknown.empty() && !ValueOf(NameIn(part), {.labels = none})) unknown = part;
  });
  if (unknown.empty()) return {};
  return Error(Code::kInvalid, fmt::format("{{{{{}}}}} is not known; $value, $low, $high, $bound "
                                           "and $labels.NAME are",
                                           unknown));
}

std::string Expand(std::string_view text, const TemplateValues& values) {
  std::string out;
  EachPart(text, [&](std::string_view part, bool is_name) {
    if (!is_name) {
      out += part;
    } else if (const auto value = ValueOf(NameIn(part), values)) {
      out += *value;
    } else {
      out += fmt::format("{{{{{}}}}}", part);
    }
  });
  return out;
}

}  // namespace wherefore::insight
