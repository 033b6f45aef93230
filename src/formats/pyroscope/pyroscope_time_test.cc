#include <gtest/gtest.h>

#include "base/clock.h"
#include "formats/pyroscope/time.h"

namespace wherefore::formats {
namespace {

constexpr std::int64_t kNow = 1'800'000'000 * kNsPerSecond;

std::int64_t Parse(std::string_view text) {
  const auto time = ParsePyroscopeTime(text, kNow);
  EXPECT_TRUE(time) << text;
  return time ? *time : -1;
}

TEST(PyroscopeTime, TheNumberOfDigitsTellsTheUnit) {
  EXPECT_EQ(Parse("1700000000"), 1'700'000'000 * kNsPerSecond);
  EXPECT_EQ(Parse("1700000000123"), 1'700'000'000'123'000'000);
  EXPECT_EQ(Parse("1700000000123456"), 1'700'000'000'123'456'000);
  EXPECT_EQ(Parse("1700000000123456789"), 1'700'000'000'123'456'789);
  EXPECT_EQ(Parse("1_700,000 000"), 1'700'000'000 * kNsPerSecond);
  EXPECT_EQ(Parse("0"), 0);
}

TEST(PyroscopeTime, EightDigitsAreADateWhenTheyFormOne) {
  EXPECT_EQ(Parse("20200102"), 1'577'923'200 * kNsPerSecond);
  EXPECT_EQ(Parse("99999999"), 99'999'999 * kNsPerSecond);
}

TEST(PyroscopeTime, AnOffsetIsRelativeToNowWhateverTheWord) {
  EXPECT_EQ(Parse("now"), kNow);
  EXPECT_EQ(Parse("now-1h"), kNow - 3600 * kNsPerSecond);
  EXPECT_EQ(Parse("then+5s"), kNow + 5 * kNsPerSecond);
  EXPECT_EQ(Parse("-1d12h"), kNow - 36 * 3600 * kNsPerSecond);
  EXPECT_EQ(Parse("now-5min"), kNow - 300 * kNsPerSecond);
  EXPECT_EQ(Parse("now-2mon"), kNow - 60 * kNsPerDay);
  EXPECT_EQ(Parse("now-1M"), kNow - 30 * kNsPerDay);
  EXPECT_EQ(Parse("now-1m"), kNow - 60 * kNsPerSecond);
}

TEST(PyroscopeTime, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", " ", "now-h", "now-1x", "5h", "2020-01-02", "99999999999999999999",
                           "now-9999999999y", "99999999999999"}) {
    EXPECT_FALSE(ParsePyroscopeTime(text, kNow)) << text;
  }
}

}  // namespace
}  // namespace wherefore::formats
