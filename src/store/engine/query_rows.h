// Runs a statement and hands over its rows, typed. For the files of this module.
//
// What is selected is a list (columns.h), the rest of the statement a text:
//   QueryRows(transport, kNewest, "FROM profiles_v1 GROUP BY service", [&](Newest row) { ... });
// A query of one column needs no list: QueryColumn and QueryValue take the whole statement.
//
// A row is handed over to be kept or dropped; texts and arrays in it that are only looked at
// (read_value.h) are good until the function returns. It returns nothing, or a Result<>, whose
// error ends the reading. An answer that is not what the list says is kCorrupt.
//
// Threads: as Transport.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/engine/columns.h"
#include "store/engine/native.h"
#include "store/engine/transport.h"

namespace wherefore::store {

template <typename Row, typename Visit>
Result<> HandOver(Row&& row, Visit& visit) {
  if constexpr (std::is_void_v<std::invoke_result_t<Visit&, Row>>) {
    visit(std::forward<Row>(row));
    return {};
  } else {
    return visit(std::forward<Row>(row));
  }
}

// Of an answer that is already there.
template <typename Row, typename... Parts, typename Visit>
Result<> ReadRows(std::string_view answer, const ColumnList<Row, Parts...>& columns,
                  Visit&& visit) {
  WHEREFORE_ASSIGN_OR_RETURN(const NativeResult result,
                             NativeResult::Parse(answer, columns.kCount));
  for (const NativeBlock& block : result.blocks) {
    if (!columns.Fits(block.columns.data()))
      return Error(Code::kCorrupt, "engine answer: other types than asked for: " + columns.Sql());
    for (std::size_t i = 0; i < block.rows; ++i) {
      Row row{};
      columns.Read(block.columns.data(), i, row);
      WHEREFORE_RETURN_IF_ERROR(HandOver(std::move(row), visit));
    }
  }
  return {};
}

// The answer counts as memory of the query: its bytes while they are read, and once more for the
// rows that are made of them.
template <typename Row, typename... Parts, typename Visit>
Result<> QueryWhole(Transport& transport, std::string_view sql,
                    const ColumnList<Row, Parts...>& columns, const QueryLimits& limits,
                    const CancelToken& cancel, Visit&& visit) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer, transport.Query(sql, limits, cancel));
  MemoryClaim raw(cancel);
  WHEREFORE_RETURN_IF_ERROR(raw.Resize(answer.size()));
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(answer.size()));
  return ReadRows(answer, columns, visit);
}

template <typename Row, typename... Parts, typename Visit>
Result<> QueryRows(Transport& transport, const ColumnList<Row, Parts...>& columns,
                   std::string_view from, const QueryLimits& limits, const CancelToken& cancel,
                   Visit&& visit) {
  return QueryWhole(transport, fmt::format("SELECT {} {}", columns.Sql(), from), columns, limits,
                    cancel, visit);
}
// Without limits, for what the store asks for itself.
template <typename Row, typename... Parts, typename Visit>
Result<> QueryRows(Transport& transport, const ColumnList<Row, Parts...>& columns,
                   std::string_view from, Visit&& visit) {
  return QueryRows(transport, columns, from, {}, CancelToken(), visit);
}

// A row of one column.
template <typename T>
struct OneValue {
  T value{};
  static constexpr auto List() { return Columns<OneValue>(Col("", &OneValue::value)); }
};

// All values of a statement that selects one column.
template <typename T>
Result<std::vector<T>> QueryColumn(Transport& transport, std::string_view sql,
                                   const QueryLimits& limits = {}, const CancelToken& cancel = {}) {
  std::vector<T> values;
  WHEREFORE_RETURN_IF_ERROR(
      QueryWhole(transport, sql, OneValue<T>::List(), limits, cancel,
                 [&](OneValue<T>&& row) { values.push_back(std::move(row.value)); }));
  return values;
}

// The value of a statement that selects one column of one row; that of T{} where there is no row.
template <typename T>
Result<T> QueryValue(Transport& transport, std::string_view sql) {
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<T> values, QueryColumn<T>(transport, sql));
  return values.empty() ? T{} : std::move(values.front());
}

// All values of an answer of one column that is already there.
template <typename T>
Result<std::vector<T>> ReadColumn(std::string_view answer) {
  std::vector<T> values;
  WHEREFORE_RETURN_IF_ERROR(ReadRows(answer, OneValue<T>::List(), [&](OneValue<T>&& row) {
    values.push_back(std::move(row.value));
  }));
  return values;
}

}  // namespace wherefore::store
