// See hours.h: from the samples of an hour to its rows.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "store/engine/schema.h"
#include "store/hours/functions.h"
#include "store/hours/hours.h"

namespace wherefore::store {
namespace {

constexpr std::string_view kVersion = "service.version";
constexpr std::array<std::string_view, 3> kOtherVersions = {"version", "commit",
                                                            "vcs.ref.head.revision"};

std::string_view ValueOf(const std::vector<std::pair<std::string, std::string>>& labels,
                         std::string_view name) {
  const auto found = std::ranges::find(
      labels, name, [](const auto& label) -> std::string_view { return label.first; });
  return found == labels.end() ? std::string_view() : found->second;
}

std::string Marked(std::string_view label, std::string_view value) {
  return fmt::format("\n{}={}", label, value);
}

// A sum of the rows of `samples` that become one.
struct Rolled {
  std::uint64_t type = 0;
  std::uint32_t version = 0;  // into the texts
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t n = 0;

  [[nodiscard]] auto Key() const { return std::tuple(type, version, stack); }
};

bool Add(std::int64_t& sum, std::int64_t value) {
  return !__builtin_add_overflow(sum, value, &sum);
}

// The engine's sums end at the largest number there is; one that is there may be such an end.
bool Fits(std::int64_t value) {
  return value != INT64_MAX && value != INT64_MIN;
}

// Adds up neighbours; false where a sum does not fit.
bool Merge(std::vector<Rolled>& rows) {
  std::ranges::sort(rows, {}, &Rolled::Key);
  std::size_t kept = 0;
  for (const Rolled& row : rows) {
    if (!Fits(row.value)) return false;
    if (kept > 0 && rows[kept - 1].Key() == row.Key()) {
      if (!Add(rows[kept - 1].value, row.value) || !Add(rows[kept - 1].n, row.n)) return false;
    } else {
      rows[kept++] = row;
    }
  }
  rows.resize(kept);
  return true;
}

}  // namespace

HourRange HoursOf(TimeRange range) {
  if (range.to_ns <= range.from_ns || range.to_ns <= 0) return {};
  return {std::max<std::int64_t>(range.from_ns, 0) / kNsPerHour, (range.to_ns - 1) / kNsPerHour};
}

std::int64_t StartOfHour(std::int64_t hour) {
  return hour > INT64_MAX / kNsPerHour ? INT64_MAX : hour * kNsPerHour;
}

std::string VersionText(const std::vector<std::pair<std::string, std::string>>& labels) {
  const std::string_view version = ValueOf(labels, kVersion);
  if (version.starts_with('\n')) return Marked(kVersion, version);
  if (!version.empty()) return std::string(version);
  for (const std::string_view label : kOtherVersions) {
    if (const auto value = ValueOf(labels, label); !value.empty()) return Marked(label, value);
  }
  return {};
}

VersionLabel ReadVersion(std::string_view text) {
  if (text.empty()) return {};
  if (!text.starts_with('\n')) return {kVersion, text};
  const std::size_t equal = text.find('=');
  if (equal == std::string_view::npos) return {};
  return {text.substr(1, equal - 1), text.substr(equal + 1)};
}

std::int64_t DueAt(const HourRow& hour, const RollWaits& waits) {
  const std::int64_t first = StartOfHour(std::int64_t{hour.hour} + 1) + waits.after_ns;
  return hour.revision == 0 ? first : std::max(first, hour.rolled_ns + waits.again_ns);
}

Result<HourSamples> ReadHour(Reader& reader, const DictionaryKey& dictionary, std::uint32_t hour,
                             const CancelToken& cancel) {
  const SampleQuery query{.tenant = dictionary.tenant,
                          .range = {StartOfHour(hour), StartOfHour(std::int64_t{hour} + 1)},
                          .selections = {{dictionary, {}, {}}}};
  HourSamples read;
  WHEREFORE_ASSIGN_OR_RETURN(const auto hours, reader.Hours(query, cancel));
  if (hours.size() != 1) return read;
  read.hour = hours[0];
  WHEREFORE_ASSIGN_OR_RETURN(const auto counts, reader.CountSamples(query, cancel));
  const std::int64_t there = counts.empty() ? 0 : counts[0].samples;
  read.whole = there == read.hour.now.samples;
  if (!read.whole) return read;
  WHEREFORE_ASSIGN_OR_RETURN(read.sums, reader.SumStacksBySeries(query, cancel));
  return read;
}

namespace {

SeriesVersions VersionsOf(const std::vector<SeriesRow>& series) {
  SeriesVersions versions;
  std::map<std::string, std::uint32_t> numbers;
  const auto number = [&](std::string text) {
    const auto [at, fresh] =
        numbers.try_emplace(std::move(text), static_cast<std::uint32_t>(versions.texts.size()));
    if (fresh) versions.texts.push_back(at->first);
    return at->second;
  };
  versions.of_series.assign(series.size() + 1, number(""));
  for (const SeriesRow& row : series) {
    if (row.series < versions.of_series.size())
      versions.of_series[row.series] = number(VersionText(row.labels));
  }
  return versions;
}

void AddNote(const HourRow& hour, std::size_t sums, std::int64_t now_ns, Rows& table) {
  const DictionaryKey& key = hour.dictionary;
  table.Begin(key.bucket, key.tenant, key.service)
      .Put(key.writer)
      .Put(hour.hour)
      .Put(hour.revision + 1)
      .Put(hour.now.profiles)
      .Put(hour.now.through)
      .Put(hour.now.samples)
      .Put(static_cast<std::uint64_t>(sums))
      .Put(now_ns);
}

}  // namespace

Result<bool> EncodeHour(Reader& reader, const HourSamples& samples, std::int64_t now_ns,
                        NamedFunctions& names, RowSet& rows, const CancelToken& cancel) {
  const HourRow& hour = samples.hour;
  const DictionaryKey& key = hour.dictionary;
  WHEREFORE_ASSIGN_OR_RETURN(const auto series, reader.Series(key, 1, cancel));
  const SeriesVersions versions = VersionsOf(series);
  std::vector<Rolled> rolled;
  rolled.reserve(samples.sums.size());
  for (const auto& [sum, id] : samples.sums)
    rolled.push_back({sum.type, versions.Of(id), sum.stack, sum.value, sum.count});
  if (!Merge(rolled)) return false;
  WHEREFORE_RETURN_IF_ERROR(
      EncodeFunctions(reader, samples, series, versions, names, rows, cancel));
  Rows& table = rows[Table::kStackHours];
  for (const Rolled& row : rolled) {
    table.Begin(key.bucket, key.tenant, key.service)
        .Put(row.type)
        .Put(hour.hour)
        .Text(versions.texts[row.version])
        .Put(key.writer)
        .Put(row.stack)
        .Put(row.value)
        .Put(row.n)
        .Put(hour.revision + 1);
  }
  AddNote(hour, rolled.size(), now_ns, rows[Table::kHourRolls]);
  return true;
}

}  // namespace wherefore::store
