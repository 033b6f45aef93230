// The views that people ask in SQL: names instead of numbers, times instead of nanoseconds, ids in
// hex. docs/sql.md describes every column.
//
// A view is a row of kViews (views.cc): where its rows come from, and its columns, each with the
// expression it stands for and what has to be joined for it. They are no views of the engine: each
// statement gets the definitions of those it names, with the joins that its columns need, and only
// the tenant, the days and the time it may read. Pure; any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/type_id.h"
#include "store/read.h"

namespace wherefore::store {

// What a statement names, by the engine's reading of it.
struct SqlNames {
  std::set<std::string, std::less<>> words;  // parts of names: "s.labels" is two
  bool all_columns = false;                  // it has a * somewhere
};

// What numbers in the tables stand for.
struct SqlMeanings {
  std::vector<std::pair<std::uint64_t, std::string>> services;
  std::vector<std::pair<std::uint64_t, profile::ProfileType>> types;
};

// All views, by name.
[[nodiscard]] std::set<std::string> ViewNames();

// "WITH samples AS (...), spans AS (...)", of those that the statement names; empty: of none.
[[nodiscard]] std::string DefineViews(const SqlNames& names, const SqlMeanings& meanings,
                                      std::uint32_t tenant, const TimeRange& range);

}  // namespace wherefore::store
