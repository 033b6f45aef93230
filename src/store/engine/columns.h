// Columns: what a statement selects, as one list of SQL expressions and the fields they are read
// into. For the files of this module.
//
//   struct Newest {
//     DictionaryKey dictionary;
//     std::int64_t time_ns = 0;
//   };
//   constexpr auto kNewest = Columns<Newest>(
//       Col("service", &Newest::dictionary, &DictionaryKey::service),
//       Col("max(time)", &Newest::time_ns));
//   QueryRows(transport, kNewest, "FROM profiles_v1 GROUP BY service", [](Newest row) { ... });
//
// The list is both the text behind SELECT and the code that fills a row, so the two cannot differ.
// A field's type says how its column is read (read_value.h). A list consists of
//   Col(sql, field)              a column; several member pointers lead to a field of a field
//   Col<T>(sql, take)            a column that is handed over: take(row, T)
//   Sum(sql, field)              a sum that ends at the largest or smallest number there is
//   Pairs(names, values, field)  two arrays of text, as pairs
//   Constant(value, field)       no column: every row has this value
//   In(field, list)              another list, for a field of the row
// and of other lists for the same row.
//
// Plain values; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/engine/read_value.h"

namespace wherefore::store {

// Every part of a list, and so a list itself, has
//   kCount           how many columns it is
//   AppendSql(out)   adds their names to a text, which may have others already
//   Fits(columns)    whether the answer's columns, from its first on, are what the fields need
//   Read(columns, row, out)
template <typename Row, typename... Parts>
class ColumnList {
 public:
  static constexpr std::size_t kCount = (std::size_t{0} + ... + Parts::kCount);

  constexpr explicit ColumnList(Parts... parts) : parts_(std::move(parts)...) {}

  // "service, max(time)"
  [[nodiscard]] std::string Sql() const {
    std::string out;
    AppendSql(out);
    return out;
  }
  void AppendSql(std::string& out) const {
    std::apply([&](const Parts&... part) { (part.AppendSql(out), ...); }, parts_);
  }
  [[nodiscard]] bool Fits(const NativeColumn* columns) const {
    const auto fits = [&]<typename Part>(const Part& part) {
      return part.Fits(std::exchange(columns, columns + Part::kCount));
    };
    return std::apply([&](const Parts&... part) { return (fits(part) && ...); }, parts_);
  }
  void Read(const NativeColumn* columns, std::size_t row, Row& out) const {
    const auto read = [&]<typename Part>(const Part& part) {
      part.Read(std::exchange(columns, columns + Part::kCount), row, out);
    };
    std::apply([&](const Parts&... part) { (read(part), ...); }, parts_);
  }

 private:
  std::tuple<Parts...> parts_;
};

template <typename Row, typename... Parts>
[[nodiscard]] constexpr ColumnList<Row, Parts...> Columns(Parts... parts) {
  return ColumnList<Row, Parts...>(std::move(parts)...);
}

// A literal is only pointed at, so that a list of them can be constexpr; a std::string is kept.
template <typename Sql>
using SqlText = std::conditional_t<std::is_same_v<Sql, std::string>, std::string, std::string_view>;

inline void AppendColumn(std::string& out, std::string_view sql) {
  if (!out.empty()) out += ", ";
  out += sql;
}

template <typename Row, typename First, typename... Rest>
[[nodiscard]] auto& FieldAt(Row& row, First first, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return row.*first;
  } else {
    return FieldAt(row.*first, rest...);
  }
}

// From a row to a field of it, or to a field of one of its fields.
template <typename... Members>
struct FieldPath {
  std::tuple<Members...> members;

  template <typename Row>
  [[nodiscard]] auto& operator()(Row& row) const {
    return std::apply([&](Members... m) -> auto& { return FieldAt(row, m...); }, members);
  }
};
template <typename Member>
struct FieldOf;
template <typename Class, typename Field>
struct FieldOf<Field Class::*> {
  using Type = Field;
};

template <typename T, typename Text, typename Take>
struct OneColumn {
  static constexpr std::size_t kCount = 1;
  Text sql;
  Take take;

  void AppendSql(std::string& out) const { AppendColumn(out, sql); }
  [[nodiscard]] bool Fits(const NativeColumn* columns) const { return CanRead<T>(*columns); }
  template <typename Row>
  void Read(const NativeColumn* columns, std::size_t row, Row& out) const {
    if constexpr (std::is_invocable_v<const Take&, Row&>) {
      ReadValue(*columns, row, take(out));
    } else {
      T value{};
      ReadValue(*columns, row, value);
      take(out, std::move(value));
    }
  }
};

template <typename Sql, typename... Members>
  requires(sizeof...(Members) > 0 && (std::is_member_object_pointer_v<Members> && ...))
[[nodiscard]] constexpr auto Col(Sql sql, Members... field) {
  using Last = std::tuple_element_t<sizeof...(Members) - 1, std::tuple<Members...>>;
  return OneColumn<typename FieldOf<Last>::Type, SqlText<Sql>, FieldPath<Members...>>{
      std::move(sql), {{field...}}};
}

template <typename T, typename Sql, typename Take>
[[nodiscard]] constexpr auto Col(Sql sql, Take take) {
  return OneColumn<T, SqlText<Sql>, Take>{std::move(sql), std::move(take)};
}

// Two columns: the engine's sum of 64-bit values, which wraps where it does not fit, and the same
// in floating point, which says so.
template <typename... Members>
struct SumColumns {
  static constexpr std::size_t kCount = 2;
  std::string exact;
  std::string about;
  FieldPath<Members...> field;

  void AppendSql(std::string& out) const {
    AppendColumn(out, exact);
    AppendColumn(out, about);
  }
  [[nodiscard]] bool Fits(const NativeColumn* columns) const {
    return CanRead<std::int64_t>(columns[0]) && CanRead<double>(columns[1]);
  }
  template <typename Row>
  void Read(const NativeColumn* columns, std::size_t row, Row& out) const {
    constexpr double kHalf =
        9223372036854775808.0;  // 2^63, half of what a sum that wraps is off by
    const std::int64_t sum = columns[0].Int(row);
    const double float_sum = columns[1].Float(row);
    const bool fits = std::abs(float_sum - static_cast<double>(sum)) < kHalf;
    field(out) = fits ? sum : float_sum < 0 ? INT64_MIN : INT64_MAX;
  }
};

template <typename... Members>
[[nodiscard]] auto Sum(std::string_view sql, Members... field) {
  return SumColumns<Members...>{
      fmt::format("sum({})", sql), fmt::format("sum(toFloat64({}))", sql), {{field...}}};
}
// One that a subquery has made, under these names.
template <typename... Members>
[[nodiscard]] auto SumFrom(std::string_view exact, std::string_view about, Members... field) {
  return SumColumns<Members...>{std::string(exact), std::string(about), {{field...}}};
}

// Adds to what the field has.
template <typename... Members>
struct PairColumns {
  static constexpr std::size_t kCount = 2;
  std::string_view names;
  std::string_view values;
  FieldPath<Members...> field;

  void AppendSql(std::string& out) const {
    AppendColumn(out, names);
    AppendColumn(out, values);
  }
  [[nodiscard]] bool Fits(const NativeColumn* columns) const {
    using Texts = NativeArray<std::string_view>;
    return CanRead<Texts>(columns[0]) && CanRead<Texts>(columns[1]);
  }
  template <typename Row>
  void Read(const NativeColumn* columns, std::size_t row, Row& out) const {
    const NativeArray<std::string_view> first(columns[0], row);
    const NativeArray<std::string_view> second(columns[1], row);
    auto& pairs = field(out);
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
      pairs.emplace_back(first[i], second[i]);
  }
};

template <typename... Members>
[[nodiscard]] constexpr auto Pairs(std::string_view names, std::string_view values,
                                   Members... field) {
  return PairColumns<Members...>{names, values, {{field...}}};
}

template <typename T, typename... Members>
struct ConstantField {
  static constexpr std::size_t kCount = 0;
  T value;
  FieldPath<Members...> field;

  void AppendSql(std::string& /*out*/) const {}
  [[nodiscard]] bool Fits(const NativeColumn* /*columns*/) const { return true; }
  template <typename Row>
  void Read(const NativeColumn* /*columns*/, std::size_t /*row*/, Row& out) const {
    field(out) = value;
  }
};

template <typename T, typename... Members>
[[nodiscard]] constexpr auto Constant(T value, Members... field) {
  return ConstantField<T, Members...>{std::move(value), {{field...}}};
}

template <typename List, typename Member>
struct ListIn {
  static constexpr std::size_t kCount = List::kCount;
  List list;
  FieldPath<Member> field;

  void AppendSql(std::string& out) const { list.AppendSql(out); }
  [[nodiscard]] bool Fits(const NativeColumn* columns) const { return list.Fits(columns); }
  template <typename Row>
  void Read(const NativeColumn* columns, std::size_t row, Row& out) const {
    list.Read(columns, row, field(out));
  }
};

template <typename Member, typename List>
[[nodiscard]] constexpr auto In(Member field, List list) {
  return ListIn<List, Member>{std::move(list), {{field}}};
}

}  // namespace wherefore::store
