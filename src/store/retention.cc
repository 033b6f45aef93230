// See retention.h.
#include "store/retention.h"

#include <algorithm>
#include <initializer_list>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/text.h"

namespace wherefore::store {
namespace {

// Of which kinds the rows of a table are, or what refers to them.
std::initializer_list<Kind> KindsOf(Table table) {
  static constexpr std::initializer_list<Kind> kSpans = {Kind::kSpans};
  static constexpr std::initializer_list<Kind> kLinks = {Kind::kLinks};
  static constexpr std::initializer_list<Kind> kSamples = {Kind::kSamples};
  static constexpr std::initializer_list<Kind> kNone = {};
  static constexpr std::initializer_list<Kind> kHours = {Kind::kHours};
  static constexpr std::initializer_list<Kind> kProfiles = {Kind::kLinks, Kind::kSamples,
                                                            Kind::kHours};
  static constexpr std::initializer_list<Kind> kAny = {Kind::kSpans, Kind::kLinks, Kind::kSamples,
                                                       Kind::kHours};
  switch (table) {
    case Table::kPins:  // they go when they are removed
      return kNone;
    case Table::kSpans:
    case Table::kTraceIndex:
      return kSpans;
    case Table::kLinks:
      return kLinks;
    case Table::kSamples:
    case Table::kDetails:
    case Table::kPayloads:
      return kSamples;
    case Table::kStackHours:
    case Table::kFunctionNames:
    case Table::kFunctionHours:
    case Table::kHourRolls:
      return kHours;
    case Table::kServices:  // of spans too
    case Table::kAlertEvents:
    case Table::kRegressionEvents:
      return kAny;
    case Table::kTypes:
    case Table::kSeries:
    case Table::kMappings:
    case Table::kFunctions:
    case Table::kFrames:
    case Table::kStacks:
    case Table::kProfiles:
      return kProfiles;
  }
  return kAny;
}

std::string Days(std::int64_t ns) {
  return ns % kNsPerDay == 0 ? fmt::format("{} d", ns / kNsPerDay) : FormatDuration(ns);
}

Result<std::int64_t> ParseTerm(std::string_view text) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ns, ParseDuration(text));
  if (ns > 0) return ns;
  return Error(Code::kInvalid,
               fmt::format("'{}' would keep nothing; leave it out to keep everything", text));
}

}  // namespace

Retention Retention::OfAll(std::int64_t ns) {
  Retention retention;
  retention.ns_.fill(ns);
  return retention;
}

Result<Retention> Retention::Parse(std::string_view text) {
  if (text.find('=') == std::string_view::npos) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ns, ParseTerm(Trim(text)));
    return OfAll(ns);
  }
  Retention retention;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view term = text.substr(begin, end - begin);
    const auto fail = [&](std::string_view what) {
      return Error(Code::kInvalid, fmt::format("at character {}: {}", begin + 1, what));
    };
    const std::size_t equal = term.find('=');
    const std::string_view name = Trim(term.substr(0, equal));
    const auto* const kind = std::ranges::find(kKindNames, name);
    if (equal == std::string_view::npos || kind == kKindNames.end()) {
      return fail(fmt::format(
          "'{}' is no kind with its time, such as samples=30d; the kinds are {}",
          equal == std::string_view::npos ? Trim(term) : name, fmt::join(kKindNames, ", ")));
    }
    std::int64_t& ns = retention.ns_[static_cast<std::size_t>(kind - kKindNames.begin())];
    if (ns != 0) return fail(fmt::format("{} is there twice", name));
    const auto parsed = ParseTerm(Trim(term.substr(equal + 1)));
    if (!parsed) return fail(parsed.error().message());
    ns = *parsed;
    begin = end + 1;
  }
  return retention;
}

std::int64_t Retention::Of(Table table) const {
  std::int64_t longest = 0;
  for (const Kind kind : KindsOf(table)) {
    if (Of(kind) == 0) return 0;
    longest = std::max(longest, Of(kind));
  }
  return longest;
}

bool Retention::IsTooOld(Table table, std::uint32_t bucket, std::int64_t now_ns) const {
  const std::int64_t kept_ns = Of(table);
  return kept_ns > 0 && SpanOf(bucket).to_ns <= now_ns - kept_ns;
}

std::string Retention::Text() const {
  if (KeepsAll()) return "everything is kept";
  if (*this == OfAll(ns_[0])) return Days(ns_[0]);
  std::string text;
  for (std::size_t i = 0; i < ns_.size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", kKindNames[i],
                        ns_[i] == 0 ? "kept" : Days(ns_[i]));
  }
  return text;
}

bool RetentionRules::KeepsAll() const {
  return usual.KeepsAll() &&
         std::ranges::all_of(of_tenant | std::views::values, &Retention::KeepsAll);
}

std::string_view KindName(Table table) {
  const auto kinds = KindsOf(table);
  if (kinds.size() == 1) return kKindNames[static_cast<std::size_t>(*kinds.begin())];
  return "profiles and names";
}

}  // namespace wherefore::store
