// Texts -> values, as options.h says them.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/text.h"
#include "sdk/config/options.h"

namespace wherefore::sdk {
namespace {

constexpr std::array<std::string_view, kTypeCount> kTypeNames = {
    "cpu", "wall", "off_cpu", "heap", "mutex", "block", "threads"};

std::string Decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size() ? FromHex(text.substr(i + 1, 2))
                                                            : std::optional<std::string>();
    if (byte) {
      out += *byte;
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): its end goes along
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string_view TypeName(Type type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<Type> TypeOf(std::string_view name) {
  if (name == "memory") return Type::kHeap;
  const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<Type>(found - kTypeNames.begin());
}

RateRange RatesOf(Type type) {
  constexpr double kDay = 24 * 3600;
  switch (type) {
    case Type::kHeap:
      return {1, 1e12, "a size from 1 byte to 1TB, such as 512KB or 10MB"};
    case Type::kMutex:
    case Type::kBlock:
      return {1, kDay * 1e9, "a duration from 1ns to 24h, such as 100us"};
    case Type::kThreads:
      return {0.1, kDay, "a duration from 100ms to 24h"};
    case Type::kCpu:
    case Type::kWall:
    case Type::kOffCpu:
      break;
  }
  return {0.001, 10'000, "samples per second, from 0.001 to 10000"};  // what perf can do at most
}

std::optional<double> ParseShare(std::string_view text) {
  const bool percent = text.ends_with('%');
  const auto number = ParseNumber(Trim(percent ? text.substr(0, text.size() - 1) : text));
  if (!number || *number < 0 || *number > 100) return std::nullopt;
  return percent || *number > 1 ? *number / 100 : *number;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  const std::string word = Lower(text);
  if (word == "on" || word == "true" || word == "yes" || word == "1") return true;
  if (word == "off" || word == "false" || word == "no" || word == "0") return false;
  return std::nullopt;
}

bool ParsePairs(std::string_view text, TextPairs& out) {
  bool complete = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string key(Trim(pair.substr(0, std::min(equals, pair.size()))));
    if (equals == std::string_view::npos || key.empty()) {
      complete = false;
      continue;
    }
    SetPair(out, key, Decode(Trim(pair.substr(equals + 1))));
  }
  return complete;
}

bool ParsePprofAddress(std::string_view text, Options& options) {
  if (const auto on = ParseSwitch(text); on && !*on && text != "0") {
    options.pprof_port = -1;
    return true;
  }
  const std::size_t colon = text.rfind(':');
  const bool bare = colon == std::string_view::npos;
  const auto port = ParseUint(bare ? text : text.substr(colon + 1));
  if (!port || *port > 65535) return false;
  std::string_view host = bare ? "" : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  options.pprof_port = static_cast<int>(*port);
  if (!host.empty()) options.pprof_host = host;
  return true;
}

void SetPair(TextPairs& pairs, std::string_view key, std::string_view value) {
  for (auto& [k, v] : pairs) {
    if (k == key) {
      v = value;
      return;
    }
  }
  pairs.emplace_back(key, value);
}

}  // namespace wherefore::sdk
