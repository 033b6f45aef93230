#include "formats/jfr/names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace wherefore::formats {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool AllOf(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// Native libraries that are unpacked into a file with a random name.
bool StableLibrary(std::string_view name, std::string& out) {
  constexpr std::array<std::string_view, 3> kUnpacked = {
      "libzstd-jni-", "libamazonCorrettoCryptoProvider", "libasyncProfiler-"};
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  constexpr std::string_view kSuffix = ".so";
  if (!name.ends_with(kSuffix)) return false;
  std::string_view stem = name.substr(0, name.size() - kSuffix.size());
  const bool known =
      std::ranges::any_of(kUnpacked, [&](std::string_view k) { return stem.starts_with(k); });
  const std::size_t tail = stem.find_last_not_of(kHexDigits);
  constexpr std::size_t kRandom = 8;  // shorter ones are versions
  if (!known || tail == std::string_view::npos || stem.size() - tail - 1 < kRandom) return false;
  out = std::string(stem.substr(0, tail + 1)) + "_" + std::string(kSuffix);
  return true;
}

}  // namespace

std::string StableClassName(std::string_view name) {
  constexpr std::string_view kLambda = "$$Lambda";
  if (const std::size_t at = name.find(kLambda); at != std::string_view::npos) {
    const std::string_view rest = name.substr(at + kLambda.size());
    if (!rest.empty() && std::string_view("$./+").find(rest[0]) != std::string_view::npos) {
      return std::string(name.substr(0, at + kLambda.size())) + "_";
    }
  }
  struct Tail {
    std::string_view before;
    std::string_view digits;
  };
  constexpr std::array<Tail, 4> kTails = {{{"/GeneratedMethodAccessor", kDigits},
                                           {"/GeneratedConstructorAccessor", kDigits},
                                           {"/GeneratedSerializationConstructorAccessor", kDigits},
                                           {"CGLIB$$", kHexDigits}}};
  for (const auto& [before, digits] : kTails) {
    const std::size_t at = name.rfind(before);
    if (at == std::string_view::npos || !AllOf(name.substr(at + before.size()), digits)) continue;
    return std::string(name.substr(0, at + before.size())) + "_";
  }
  std::string out;
  return StableLibrary(name, out) ? out : std::string(name);
}

std::string ThreadGroupName(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t word = std::min(name.find_first_of(kDigits), name.size());
    out += name.substr(0, word);
    name.remove_prefix(word);
    const std::size_t number = std::min(name.find_first_not_of(kDigits), name.size());
    // After a letter it is part of the name: "C2 CompilerThread0".
    const auto last = static_cast<unsigned char>(out.empty() ? ' ' : out.back());
    const bool counts = std::isalpha(last) == 0 || number == name.size();
    if (number > 0) out += counts ? std::string_view("*") : name.substr(0, number);
    name.remove_prefix(number);
  }
  return out;
}

}  // namespace wherefore::formats
