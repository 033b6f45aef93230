#include "store/sql/views.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/schema.h"
#include "store/engine/transport.h"

namespace wherefore::store {
namespace {

// In these texts $word stands for something that differs from statement to statement (Fill).
struct ViewColumn {
  std::string_view name;
  std::string_view expression;
  std::string_view join = {};  // into kJoins
};
struct View {
  std::string_view name;
  std::string_view from;
  std::string_view time;  // in ns; empty: rows have none, only days
  std::string_view time_join;
  std::span<const ViewColumn> columns;
};
struct Join {
  std::string_view name;
  std::string_view text;
};

constexpr std::string_view kStackId =
    "lower(hex(concat(reinterpretAsFixedString(t.service), reinterpretAsFixedString(t.bucket), "
    "reinterpretAsFixedString(t.writer), reinterpretAsFixedString(t.stack))))";
constexpr std::string_view kFunction = "if(t.stack = 0, '[no stack]', leaf.function)";
constexpr std::string_view kCount =
    "multiIf($rule = 1, t.value, $rule = 2, intDiv(t.value, $period), toInt64(t.n))";

constexpr std::array kSamples = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(t.time, 'UTC')"},
    ViewColumn{"service", "$service"},
    ViewColumn{"type", "$type"},
    ViewColumn{"unit", "$unit"},
    ViewColumn{"value", "t.value * $times"},
    ViewColumn{"n", kCount},
    ViewColumn{"stack", kStackId},
    ViewColumn{"function", kFunction, "leaf"},
    ViewColumn{"file", "leaf.file", "leaf"},
    ViewColumn{"labels", "series.labels", "series"},
};
constexpr std::array kStacks = {
    ViewColumn{"service", "$service"},
    ViewColumn{"stack", kStackId},
    ViewColumn{"functions", "named.functions", "named"},
};
constexpr std::array kFunctions = {
    ViewColumn{"service", "$service"}, ViewColumn{"function", "t.function"},
    ViewColumn{"file", "t.file"},      ViewColumn{"line", "t.line"},
    ViewColumn{"symbol", "t.symbol"},
};
constexpr std::array kSpans = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(t.start, 'UTC')"},
    ViewColumn{"service", "$service"},
    ViewColumn{"name", "t.name"},
    ViewColumn{"kind",
               "transform(t.kind, [1, 2, 3, 4, 5], ['internal', 'server', 'client', 'producer', "
               "'consumer'], 'unspecified')"},
    ViewColumn{"status", "transform(t.status, [1, 2], ['ok', 'error'], 'unset')"},
    ViewColumn{"status_message", "t.status_message"},
    ViewColumn{"duration_ns", "t.duration"},
    ViewColumn{"trace", "lower(hex(t.trace))"},
    ViewColumn{"span", "lower(hex(t.span))"},
    ViewColumn{"parent", "if(reinterpretAsUInt64(t.parent) = 0, '', lower(hex(t.parent)))"},
    ViewColumn{"attributes", "mapFromArrays(t.names, t.values)"},
    ViewColumn{"resource", "mapFromArrays(t.resource_names, t.resource_values)"},
};
constexpr std::array kLinks = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(profile.time, 'UTC')", "profile"},
    ViewColumn{"service", "$service"},
    ViewColumn{"type", "$type"},
    ViewColumn{"unit", "$unit"},
    ViewColumn{"trace", "lower(hex(t.trace))"},
    ViewColumn{"span", "lower(hex(t.span))"},
    ViewColumn{"value", "t.value * $times"},
    ViewColumn{"n", kCount},
    ViewColumn{"stack", kStackId},
    ViewColumn{"function", kFunction, "leaf"},
    ViewColumn{"file", "leaf.file", "leaf"},
    ViewColumn{"labels", "series.labels", "series"},
};
constexpr std::array kProfiles = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(t.time, 'UTC')"},
    ViewColumn{"duration_ns", "t.duration"},
    ViewColumn{"service", "$service"},
    ViewColumn{"type", "$type"},
    ViewColumn{"unit", "$unit"},
    ViewColumn{"value", "t.total * $times"},
    ViewColumn{"n", "t.n"},
    ViewColumn{"samples", "t.samples"},
    ViewColumn{"id", "lower(hex(t.id))"},
    ViewColumn{"labels", "series.labels", "series"},
};

constexpr std::array kAlertEvents = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(t.time, 'UTC')"},
    ViewColumn{"kind", "t.kind"},
    ViewColumn{"state", "t.state"},
    ViewColumn{"alert", "t.alert"},
    ViewColumn{"rule_group", "t.rule_group"},
    ViewColumn{"service", "t.service"},
    ViewColumn{"fingerprint", "lower(leftPad(hex(t.fingerprint), 16, '0'))"},
    ViewColumn{"starts", "fromUnixTimestamp64Nano(t.starts, 'UTC')"},
    ViewColumn{"ends", "fromUnixTimestamp64Nano(t.ends, 'UTC')"},
    ViewColumn{"value", "t.value"},
    ViewColumn{"low", "t.low"},
    ViewColumn{"high", "t.high"},
    ViewColumn{"labels", "mapFromArrays(t.names, t.values)"},
    ViewColumn{"id", "t.id"},
    ViewColumn{"detail", "t.detail"},
};

constexpr std::array kRegressionEvents = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(t.time, 'UTC')"},
    ViewColumn{"kind", "t.kind"},
    ViewColumn{"event", "t.event"},
    ViewColumn{"state", "t.state"},
    ViewColumn{"id", "lower(leftPad(hex(t.id), 16, '0'))"},
    ViewColumn{"service", "t.service"},
    ViewColumn{"type", "t.type"},
    ViewColumn{"function", "t.function"},
    ViewColumn{"module", "t.module"},
    ViewColumn{"version_before", "t.version_before"},
    ViewColumn{"version", "t.version"},
    ViewColumn{"since", "fromUnixTimestamp64Nano(t.since, 'UTC')"},
    ViewColumn{"cores", "t.value"},
    ViewColumn{"low", "t.low"},
    ViewColumn{"high", "t.high"},
    ViewColumn{"why", "t.why"},
    ViewColumn{"facts", "mapFromArrays(t.names, t.values)"},
};
constexpr std::array kFunctionHours = {
    ViewColumn{"time", "fromUnixTimestamp64Nano(toInt64(t.hour) * 3600000000000, 'UTC')"},
    ViewColumn{"service", "$service"},
    ViewColumn{"type", "$type"},
    ViewColumn{"unit", "$unit"},
    ViewColumn{
        "version",
        "if(startsWith(t.version, char(10)), substring(t.version, position(t.version, '=') + "
        "1), t.version)"},
    ViewColumn{"function", "if(t.function = 0, '[all]', called.name)", "called"},
    ViewColumn{"module", "called.module", "called"},
    ViewColumn{"self", "t.self * $times"},
    ViewColumn{"total", "t.total * $times"},
    ViewColumn{"self_n", "t.self_n"},
    ViewColumn{"total_n", "t.total_n"},
    ViewColumn{"instances", "t.groups"},
    ViewColumn{"self_xx", "t.self_xx * $times * $times"},
    ViewColumn{"self_xe", "t.self_xe * $times * $times"},
    ViewColumn{"total_xx", "t.total_xx * $times * $times"},
    ViewColumn{"total_xe", "t.total_xe * $times * $times"},
    ViewColumn{"ee", "t.ee * $times * $times"},
};
// Of the newest sums only: an hour to which data came late has been summed up several times.
constexpr std::string_view kNewestHours =
    "(SELECT * FROM function_hours_v1 WHERE $mine AND (service, bucket, writer, hour, revision) IN "
    "(SELECT service, bucket, writer, hour, max(revision) FROM hour_rolls_v1 WHERE $mine GROUP BY "
    "service, bucket, writer, hour)) AS t";

// A function that is there twice, written on two days, is told once.
constexpr std::string_view kEachFunction =
    "(SELECT service, $name AS function, file, start_line AS line, system_name AS symbol FROM "
    "functions_v1 WHERE $mine AND (name != '' OR system_name != '' OR file != '') GROUP BY "
    "service, function, file, line, symbol) AS t";

constexpr std::array<View, 9> kViews = {{
    {"samples", "(SELECT * FROM samples_v1 WHERE $mine) AS t", "t.time", "", kSamples},
    {"stacks", "(SELECT * FROM stacks_v1 WHERE $mine) AS t", "", "", kStacks},
    {"functions", kEachFunction, "", "", kFunctions},
    {"spans", "(SELECT * FROM spans_v1 WHERE $mine) AS t", "t.start", "", kSpans},
    {"links", "(SELECT * FROM links_v1 WHERE $mine) AS t", "profile.time", "profile", kLinks},
    {"profiles", "(SELECT * FROM profiles_v1 WHERE $mine) AS t", "t.time", "", kProfiles},
    {"function_hours", kNewestHours, "toInt64(t.hour) * 3600000000000", "", kFunctionHours},
    {"alert_events", "(SELECT * FROM alert_events_v1 WHERE $mine) AS t", "t.time", "",
     kAlertEvents},
    {"regression_events", "(SELECT * FROM regression_events_v1 WHERE $mine) AS t", "t.time", "",
     kRegressionEvents},
}};

// The names of a frame, innermost first: inlined calls have several. As profile/frame_name.h.
constexpr std::string_view kFrames =
    "(SELECT bucket, service, writer, frame, arrayMap(p -> (p.2, p.3), arraySort(p -> p.1, "
    "groupArray((position, multiIf(function != 0 AND known = 0, '[name lost]', name != '', name, "
    "file != '', file, mapping_file != '', concat(mapping_file, '+0x', $hex), address != 0, "
    "concat('0x', $hex), '[unknown]'), file)))) AS calls FROM "
    "(SELECT bucket, service, writer, frame, mapping, address, position, function FROM frames_v1 "
    "LEFT ARRAY JOIN functions AS function, arrayEnumerate(functions) AS position WHERE $mine) AS "
    "fr LEFT ANY JOIN (SELECT bucket, service, writer, function, $name AS name, file, 1 AS known "
    "FROM functions_v1 WHERE $mine) AS fu USING (bucket, service, writer, function) LEFT ANY JOIN "
    "(SELECT bucket, service, writer, mapping, start, file_offset, basename(file) AS mapping_file "
    "FROM mappings_v1 WHERE $mine) AS ma USING (bucket, service, writer, mapping) "
    "GROUP BY bucket, service, writer, frame)";

constexpr std::array<Join, 5> kJoins = {{
    {"series",
     "LEFT ANY JOIN (SELECT bucket, service, writer, series, mapFromArrays(names, values) AS "
     "labels FROM series_v1 WHERE $mine) AS series ON $same(series) AND series.series = t.series"},
    {"profile",
     "LEFT ANY JOIN (SELECT bucket, service, writer, number, time FROM profiles_v1 WHERE $mine) AS "
     "profile ON $same(profile) AND profile.number = t.profile"},
    {"leaf",
     "LEFT ANY JOIN (SELECT bucket, service, writer, stack, if(empty(calls), '[name lost]', "
     "calls[1].1) AS function, calls[1].2 AS file FROM (SELECT bucket, service, writer, stack, "
     "frames[1] AS frame FROM stacks_v1 WHERE $mine) AS st LEFT ANY JOIN $frames AS fr USING "
     "(bucket, service, writer, frame)) AS leaf ON $same(leaf) AND leaf.stack = t.stack"},
    {"named",
     "LEFT ANY JOIN (SELECT bucket, service, writer, stack, arrayFlatten(arrayMap(p -> p.2, "
     "arraySort(p -> p.1, groupArray((position, if(empty(calls), ['[name lost]'], arrayMap(c -> "
     "c.1, calls))))))) AS functions FROM (SELECT bucket, service, writer, stack, position, frame "
     "FROM stacks_v1 ARRAY JOIN frames AS frame, arrayEnumerate(frames) AS position WHERE $mine) "
     "AS st LEFT ANY JOIN $frames AS fr USING (bucket, service, writer, frame) GROUP BY bucket, "
     "service, writer, stack) AS named ON $same(named) AND named.stack = t.stack"},
    {"called",
     "LEFT ANY JOIN (SELECT bucket, service, function, name, module FROM function_names_v1 WHERE "
     "$mine) AS called ON called.bucket = t.bucket AND called.service = t.service AND "
     "called.function = t.function"},
}};

constexpr std::string_view kLost = "'[name lost]'";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// CAST, because the engine would take a list of small numbers for a list of a small type.
template <typename List, typename Value>
std::string Table(std::string_view column, const List& list, std::string_view type,
                  std::string_view otherwise, Value value) {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, meaning] : list) {
    keys.push_back(fmt::format("{}", key));
    values.push_back(value(meaning));
  }
  if (keys.empty()) return fmt::format("CAST({}, '{}')", otherwise, type);
  return fmt::format(
      "transform({}, CAST([{}], 'Array(UInt64)'), CAST([{}], 'Array({})'), CAST({}, '{}'))", column,
      fmt::join(keys, ","), fmt::join(values, ","), type, otherwise, type);
}

// What counts CPU time without being sent as time is told in nanoseconds, as everywhere else.
std::int64_t TimesOf(const profile::ProfileType& type) {
  return type.stands_for_cpu ? type.period : 1;
}
std::string TypeName(const profile::ProfileType& type) {
  return type.stands_for_cpu ? "cpu" : ShortName(type);
}
std::string UnitOf(const profile::ProfileType& type) {
  return type.stands_for_cpu ? "nanoseconds" : type.sample_unit;
}

class Filler {
 public:
  Filler(const SqlMeanings& meanings, std::uint32_t tenant, const TimeRange& range)
      : meanings_(meanings),
        mine_(fmt::format("tenant = {} AND {}", tenant,
                          BucketCondition(range.from_ns, range.to_ns))) {}

  void Fill(std::string& text) const {
    ReplaceAll(text, "$frames", kFrames);
    ReplaceAll(text, "$mine", mine_);
    for (const Join& join : kJoins) {
      ReplaceAll(text, fmt::format("$same({})", join.name),
                 fmt::format("{0}.bucket = t.bucket AND {0}.service = t.service AND {0}.writer = "
                             "t.writer",
                             join.name));
    }
    // The hash at the end of a Rust name says nothing to people.
    ReplaceAll(text, "$name",
               "if(startsWith(if(name != '', name, system_name), '_Z'), "
               "replaceRegexpOne(demangle(if(name != '', name, system_name)), "
               "'::h[0-9a-f]{16}$', ''), if(name != '', name, system_name))");
    ReplaceAll(text, "$hex", "lower(trim(LEADING '0' FROM hex(address - start + file_offset)))");
    text = WithMeanings(text);
  }

 private:
  // In one pass: names that senders chose may have a $ too.
  [[nodiscard]] std::string WithMeanings(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      const std::size_t at = std::min(text.find('$'), text.size());
      out += text.substr(0, at);
      text.remove_prefix(at);
      if (text.empty()) break;
      const auto end =
          std::ranges::find_if(text.substr(1), [](char c) { return c < 'a' || c > 'z'; });
      const auto size = static_cast<std::size_t>(end - text.begin());
      out += size == 1 ? "$" : Meaning(text.substr(1, size - 1));
      text.remove_prefix(size);
    }
    return out;
  }
  [[nodiscard]] std::string Meaning(std::string_view word) const {
    using profile::CountRule;
    using profile::ProfileType;
    const auto by_type = [&](std::string_view type, std::string_view otherwise, auto value) {
      return Table("t.type", meanings_.types, type, otherwise, value);
    };
    if (word == "service") {
      return Table("t.service", meanings_.services, "String", kLost,
                   [](const std::string& name) { return Quote(name); });
    }
    if (word == "type")
      return by_type("String", kLost, [](const ProfileType& t) { return Quote(TypeName(t)); });
    if (word == "unit")
      return by_type("String", "''", [](const ProfileType& t) { return Quote(UnitOf(t)); });
    if (word == "times")
      return by_type("Int64", "1", [](const ProfileType& t) { return fmt::to_string(TimesOf(t)); });
    if (word == "rule") {
      return by_type("UInt8", "0", [](const ProfileType& t) {
        const bool no_period = t.count_rule == CountRule::kValuePerPeriod && t.period <= 0;
        return fmt::to_string(no_period ? 0 : static_cast<int>(t.count_rule));
      });
    }
    return by_type("Int64", "1", [](const ProfileType& t) {  // $period
      return fmt::to_string(std::max<std::int64_t>(t.period, 1));
    });
  }

  const SqlMeanings& meanings_;
  const std::string mine_;
};

// Columns that need a join are there only if the statement names them.
std::string Define(const View& view, const SqlNames& names, const TimeRange& range) {
  std::vector<std::string> columns;
  std::set<std::string_view> joins;
  for (const ViewColumn& column : view.columns) {
    const bool named = names.all_columns || names.words.contains(column.name);
    if (!column.join.empty() && !named) continue;
    columns.push_back(fmt::format("{} AS {}", column.expression, column.name));
    if (!column.join.empty()) joins.insert(column.join);
  }
  const bool all_time = range.from_ns == 0 && range.to_ns == INT64_MAX;
  if (!all_time && !view.time_join.empty()) joins.insert(view.time_join);
  std::string from(view.from);
  std::string where;
  if (!all_time && !view.time.empty()) {
    where = fmt::format(" WHERE {0} >= {1} AND {0} < {2}", view.time, range.from_ns, range.to_ns);
  }
  for (const Join& join : kJoins) {
    if (joins.contains(join.name)) from += fmt::format(" {}", join.text);
  }
  return fmt::format("{} AS (SELECT {} FROM {}{})", view.name, fmt::join(columns, ", "), from,
                     where);
}

}  // namespace

std::set<std::string> ViewNames() {
  std::set<std::string> names;
  for (const View& view : kViews) names.emplace(view.name);
  return names;
}

std::string DefineViews(const SqlNames& names, const SqlMeanings& meanings, std::uint32_t tenant,
                        const TimeRange& range) {
  std::vector<std::string> views;
  for (const View& view : kViews) {
    if (names.words.contains(view.name)) views.push_back(Define(view, names, range));
  }
  if (views.empty()) return {};
  std::string text = fmt::format("WITH {}", fmt::join(views, ", "));
  Filler(meanings, tenant, range).Fill(text);
  return text;
}

}  // namespace wherefore::store
