// Lists of columns: the text they select and the rows they read. Answers are written here as the
// engine writes them.
#include "store/engine/columns.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

// One Native block.
class Block {
 public:
  Block(int columns, int rows) : bytes_{static_cast<char>(columns), static_cast<char>(rows)} {}

  template <typename T>
  Block& Numbers(std::string_view type, const std::vector<T>& values) {
    Head(type);
    return Raw(values);
  }
  Block& Texts(std::string_view type, const std::vector<std::string>& values) {
    Head(type);
    for (const std::string& value : values) {
      if (type == "String") bytes_ += static_cast<char>(value.size());
      bytes_ += value;
    }
    return *this;
  }
  // `ends` says where each row's elements end.
  template <typename T>
  Block& Array(std::string_view type, const std::vector<std::uint64_t>& ends,
               const std::vector<T>& elements) {
    Head(type);
    Raw(ends);
    if constexpr (std::is_same_v<T, std::string>) {
      for (const std::string& element : elements) {
        bytes_ += static_cast<char>(element.size());
        bytes_ += element;
      }
      return *this;
    } else {
      return Raw(elements);
    }
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void Head(std::string_view type) {
    bytes_ += '\1';
    bytes_ += 'c';
    bytes_ += static_cast<char>(type.size());
    bytes_ += type;
  }
  template <typename T>
  Block& Raw(const std::vector<T>& values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }

  std::string bytes_;
};

struct Inner {
  std::uint32_t small = 0;
  std::string text;
};
enum class Color : std::uint8_t { kRed, kGreen };
struct Outer {
  Inner inner;
  std::uint64_t tenant = 0;
  std::int64_t sum = 0;
  double weight = 0;
  bool flag = false;
  Color color = Color::kRed;
  std::array<std::uint8_t, 4> id{};
  std::vector<std::int64_t> values;
  std::vector<std::pair<std::string, std::string>> labels;
  std::int64_t doubled = 0;
};

template <typename Row, typename... Parts>
Result<std::vector<Row>> ReadAll(const Block& block, const ColumnList<Row, Parts...>& columns) {
  std::vector<Row> rows;
  WHEREFORE_RETURN_IF_ERROR(
      ReadRows(block.bytes(), columns, [&](Row&& row) { rows.push_back(std::move(row)); }));
  return rows;
}

TEST(Columns, AreTheTextAndTheRow) {
  constexpr auto kInner = Columns<Inner>(Col("small", &Inner::small), Col("text", &Inner::text));
  const std::string literal = "flag = 1";
  const auto list = Columns<Outer>(
      Constant(std::uint64_t{7}, &Outer::tenant), In(&Outer::inner, kInner),
      Columns<Outer>(Col("weight", &Outer::weight), Col(literal, &Outer::flag)),
      Col("color", &Outer::color), Col("id", &Outer::id), Col("`values`", &Outer::values),
      Pairs("names", "texts", &Outer::labels),
      Col<std::int64_t>("n", [](Outer& row, std::int64_t n) { row.doubled = 2 * n; }));
  EXPECT_EQ(list.Sql(), "small, text, weight, flag = 1, color, id, `values`, names, texts, n");
  static_assert(decltype(list)::kCount == 10);

  Block block(10, 2);
  block.Numbers<std::uint16_t>("UInt16", {65535, 2})
      .Texts("String", {"one", ""})
      .Numbers<double>("Float64", {0.5, -1})
      .Numbers<std::uint8_t>("UInt8", {2, 0})
      .Numbers<std::uint8_t>("UInt8", {1, 0})
      .Texts("FixedString(4)", {"abcd", "efgh"})
      .Array<std::int32_t>("Array(Int32)", {0, 2}, {-1, 5})
      .Array<std::string>("Array(String)", {1, 3}, {"a", "b", "c"})
      .Array<std::string>("Array(String)", {1, 3}, {"x", "y", "z"})
      .Numbers<std::int8_t>("Int8", {-3, 4});
  const auto rows = ReadAll(block, list);
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->size(), 2u);
  const Outer& first = rows->at(0);
  const Outer& second = rows->at(1);
  EXPECT_EQ(first.tenant, 7u);
  EXPECT_EQ(first.inner.small, 65535u);
  EXPECT_EQ(first.inner.text, "one");
  EXPECT_EQ(first.weight, 0.5);
  EXPECT_TRUE(first.flag);
  EXPECT_FALSE(second.flag);
  EXPECT_EQ(first.color, Color::kGreen);
  EXPECT_EQ(second.id, (std::array<std::uint8_t, 4>{'e', 'f', 'g', 'h'}));
  EXPECT_TRUE(first.values.empty());
  EXPECT_EQ(second.values, (std::vector<std::int64_t>{-1, 5}));
  EXPECT_EQ(first.labels, (decltype(first.labels){{"a", "x"}}));
  EXPECT_EQ(second.labels, (decltype(first.labels){{"b", "y"}, {"c", "z"}}));
  EXPECT_EQ(first.doubled, -6);
}

TEST(Columns, SumsEndAtTheLargestNumber) {
  const auto list = Columns<Outer>(Sum("value", &Outer::sum));
  EXPECT_EQ(list.Sql(), "sum(value), sum(toFloat64(value))");
  EXPECT_EQ(Columns<Outer>(SumFrom("a", "b", &Outer::sum)).Sql(), "a, b");
  Block block(2, 4);
  block.Numbers<std::int64_t>("Int64", {INT64_MAX, -2, 1, -5})
      .Numbers<double>("Float64", {9.3e18, 1.8446744073709552e19, -1.8446744073709552e19, -5});
  const auto rows = ReadAll(block, list);
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_EQ(rows->at(0).sum, INT64_MAX);
  EXPECT_EQ(rows->at(1).sum, INT64_MAX);
  EXPECT_EQ(rows->at(2).sum, INT64_MIN);
  EXPECT_EQ(rows->at(3).sum, -5);
}

TEST(Columns, OtherColumnsThanAskedForAreRefused) {
  Block numbers(1, 1);
  numbers.Numbers<std::uint64_t>("UInt64", {1});
  Block array(1, 1);
  array.Array<std::uint64_t>("Array(UInt64)", {1}, {1});
  const auto code = [](const auto& result) {
    return result ? Code::kInternal : result.error().code();
  };
  EXPECT_TRUE(ReadColumn<std::uint64_t>(numbers.bytes()));
  EXPECT_EQ(code(ReadColumn<std::string>(numbers.bytes())), Code::kCorrupt);
  EXPECT_EQ(code(ReadColumn<std::vector<std::uint64_t>>(numbers.bytes())), Code::kCorrupt);
  EXPECT_EQ(code(ReadColumn<std::uint64_t>(array.bytes())), Code::kCorrupt);
  EXPECT_EQ(code(ReadColumn<std::vector<std::string>>(array.bytes())), Code::kCorrupt);
  const auto two = Columns<Inner>(Col("small", &Inner::small), Col("text", &Inner::text));
  EXPECT_EQ(code(ReadAll(numbers, two)), Code::kCorrupt);
}

TEST(Columns, AnErrorEndsTheReading) {
  Block block(1, 3);
  block.Numbers<std::uint32_t>("UInt32", {1, 2, 3});
  std::uint32_t last = 0;
  const auto result = ReadRows(block.bytes(), Columns<Inner>(Col("small", &Inner::small)),
                               [&](const Inner& row) -> Result<> {
                                 last = row.small;
                                 if (last == 2) return Error(Code::kLimit, "enough");
                                 return {};
                               });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "enough");
  EXPECT_EQ(last, 2u);
}

}  // namespace
}  // namespace wherefore::store
