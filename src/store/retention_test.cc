#include "store/retention.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace wherefore::store {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto parsed = Retention::Parse(text);
  return parsed ? "none" : parsed.error().message();
}

TEST(Retention, OneNumberIsForEverything) {
  const auto parsed = Retention::Parse("30d");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, Retention::OfAll(30 * kNsPerDay));
  EXPECT_EQ(parsed->Text(), "30 d");
  EXPECT_EQ(Retention().Text(), "everything is kept");
}

TEST(Retention, ByKind) {
  const auto parsed = Retention::Parse("spans=3d, links=7d,samples=30d");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->Of(Kind::kSpans), 3 * kNsPerDay);
  EXPECT_EQ(parsed->Of(Kind::kHours), 0) << "what is not named is kept";
  EXPECT_EQ(parsed->Of(Table::kTraceIndex), 3 * kNsPerDay);
  EXPECT_EQ(parsed->Of(Table::kDetails), 30 * kNsPerDay);
  EXPECT_EQ(parsed->Of(Table::kProfiles), 0) << "hours refer to them";
  EXPECT_EQ(parsed->Text(), "spans 3 d, links 7 d, samples 30 d, hours kept");
}

TEST(Retention, ProfilesAndNamesStayWithTheLastThatMayReferToThem) {
  const auto parsed = Retention::Parse("spans=90d,links=7d,samples=30d,hours=20d");
  ASSERT_TRUE(parsed);
  for (const TableDef& table : Tables()) {
    if (!table.is_dictionary && table.id != Table::kProfiles) continue;
    EXPECT_EQ(parsed->Of(table.id), (table.id == Table::kServices ? 90 : 30) * kNsPerDay)
        << table.name;
  }
}

TEST(Retention, MistakesAreNamedWithTheirPlace) {
  EXPECT_EQ(ErrorOf("spans=3d,liks=7d"),
            "at character 10: 'liks' is no kind with its time, such as samples=30d; the kinds are "
            "spans, links, samples, hours");
  EXPECT_NE(ErrorOf("spans=3d,7d").find("at character 10: '7d' is no kind"), std::string::npos);
  EXPECT_NE(ErrorOf("spans=3d,").find("at character 10"), std::string::npos);
  EXPECT_EQ(ErrorOf("spans=3d,spans=7d"), "at character 10: spans is there twice");
  EXPECT_NE(ErrorOf("spans=soon").find("at character 1: "), std::string::npos);
  EXPECT_NE(ErrorOf("hours=0d").find("would keep nothing"), std::string::npos);
  EXPECT_NE(ErrorOf("0d").find("would keep nothing"), std::string::npos);
  EXPECT_NE(ErrorOf(""), "none");
}

}  // namespace
}  // namespace wherefore::store
