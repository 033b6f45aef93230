#include "profile/typed_attributes.h"

#include <bit>
#include <limits>

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

TEST(TypedAttributes, RoundTripEveryKind) {
  std::string out;
  using Kind = Value::Kind;
  const std::vector<TypedAttribute> in = {
      {.place = AttributePlace::kResource, .key = "a", .kind = Kind::kString, .text = "text"},
      {.place = AttributePlace::kSample,
       .key = "b",
       .unit = "By",
       .kind = Kind::kInt,
       .number = -5},
      {.place = AttributePlace::kProfile, .key = "c", .kind = Kind::kBool, .number = 1},
      {.key = "d", .kind = Kind::kDouble, .number = std::bit_cast<std::int64_t>(2.5)},
      {.key = "e", .kind = Kind::kInt, .number = std::numeric_limits<std::int64_t>::min()},
      {.key = "f", .kind = Kind::kEmpty},
      {.key = "", .kind = Kind::kMap, .text = std::string_view("\x00\xff", 2)}};
  for (const TypedAttribute& a : in) AppendTyped(out, a);
  const auto back = ReadTyped(out);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ((*back)[i].place, in[i].place);
    EXPECT_EQ((*back)[i].key, in[i].key);
    EXPECT_EQ((*back)[i].unit, in[i].unit);
    EXPECT_EQ((*back)[i].kind, in[i].kind);
    EXPECT_EQ((*back)[i].text, in[i].text);
    EXPECT_EQ((*back)[i].number, in[i].number);
  }
}

TEST(TypedAttributes, EveryTruncationIsAnErrorOrAShorterList) {
  std::string out;
  AppendTyped(out, {.key = "key", .unit = "u", .kind = Value::Kind::kString, .text = "value"});
  for (std::size_t size = 1; size < out.size(); ++size) {
    EXPECT_FALSE(ReadTyped(out.substr(0, size))) << size;
  }
  EXPECT_TRUE(ReadTyped(out));
}

}  // namespace
}  // namespace wherefore::profile
