#include "base/text.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace wherefore {
namespace {

TEST(Hex, RoundTripsAndRejectsGarbage) {
  EXPECT_EQ(ToHex(std::string_view("\x00\xff\x10", 3)), "00ff10");
  EXPECT_EQ(FromHex("00FF10"), std::string("\x00\xff\x10", 3));
  EXPECT_FALSE(FromHex("0"));
  EXPECT_FALSE(FromHex("zz"));
}

TEST(Base64, RoundTripsEveryTailLength) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(FromBase64(ToBase64(text)), text);
  }
  EXPECT_EQ(ToBase64("ab"), "YWI=");
  EXPECT_EQ(FromBase64("_-8"), std::string("\xff\xef"));
  EXPECT_FALSE(FromBase64("a"));
  EXPECT_FALSE(FromBase64("a*b="));
}

TEST(Utf8, AcceptsTextAndRejectsBrokenSequences) {
  EXPECT_TRUE(IsValidUtf8("plain ascii of more than eight bytes"));
  EXPECT_TRUE(IsValidUtf8("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5"));
  for (const std::string_view bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "12345678\x80"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << ToHex(bad);
  }
  EXPECT_TRUE(CheckUtf8("gr\xc3\xbc\xc3\x9f"));
  EXPECT_EQ(CheckUtf8("12345678\xc3").error().message(), "byte 9 is not UTF-8 (0xc3)");
}

TEST(Time, ParsesEveryWayPeopleWriteIt) {
  const std::int64_t now = 1'700'000'000 * kNsPerSecond;
  EXPECT_EQ(*ParseTime("2023-11-14T22:13:20Z", 0), now);
  EXPECT_EQ(*ParseTime("2023-11-14T23:13:20+01:00", 0), now);
  EXPECT_EQ(*ParseTime("2023-11-14T22:13:20.5Z", 0), now + kNsPerSecond / 2);
  EXPECT_EQ(*ParseTime("1700000000", 0), now);
  EXPECT_EQ(*ParseTime("1700000000000", 0), now);
  EXPECT_EQ(*ParseTime("1700000000000000000", 0), now);
  EXPECT_EQ(*ParseTime("now-1h", now), now - 3600 * kNsPerSecond);
  EXPECT_EQ(*ParseTime("-90s", now), now - 90 * kNsPerSecond);
  EXPECT_EQ(FormatTime(now), "2023-11-14T22:13:20Z");
  for (const auto* bad : {"", "yesterday", "2023-13-01", "2023-11-14T25:00:00Z", "now-", "1h",
                          "99999999999", "33658-09-27", "9999-12-31", "9999999999999"}) {
    EXPECT_FALSE(ParseTime(bad, now)) << bad;
  }
}

TEST(Duration, ParsesCompoundsAndRejectsNonsense) {
  EXPECT_EQ(*ParseDuration("1h30m"), 5400 * kNsPerSecond);
  EXPECT_EQ(*ParseDuration("3000d"), 3000 * kNsPerDay);
  EXPECT_EQ(*ParseDuration("0.5s"), kNsPerSecond / 2);
  for (const auto* bad : {"", "5", "h", "-1h", "1x", "1e3s", "99999999y"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(ParseBytes, TakesWhatPeopleWrite) {
  EXPECT_EQ(*ParseBytes("1048576"), 1'048'576);
  EXPECT_EQ(*ParseBytes("512MB"), 512'000'000);
  EXPECT_EQ(*ParseBytes("1.5 GiB"), 1'610'612'736);
  EXPECT_EQ(*ParseBytes("64k"), 65'536);
  EXPECT_EQ(*ParseBytes("7B"), 7);
  for (const auto* bad : {"", "MB", "-1MB", "1x", "1KiBs", "nan", "99999999TB", "1 2"}) {
    EXPECT_FALSE(ParseBytes(bad)) << bad;
  }
}

TEST(Format, IsShortForPeople) {
  EXPECT_EQ(FormatDuration(150'000'000), "150 ms");
  EXPECT_EQ(FormatDuration(1'284'000'000), "1.28 s");
  EXPECT_EQ(FormatBytes(1'572'864), "1.5 MiB");
  EXPECT_EQ(FormatCount(-1284000), "-1,284,000");
  EXPECT_EQ(FormatCount(123), "123");
}

TEST(UrlWithoutUser, AnAddressIsSaidWithoutItsPassword) {
  EXPECT_EQ(UrlWithoutUser("http://me:secret@host:80/a@b?c=d"), "http://***@host:80/a@b?c=d");
  EXPECT_EQ(UrlWithoutUser("https://me:sec@ret@host"), "https://***@host");
  EXPECT_EQ(UrlWithoutUser("me:secret@host"), "***@host");
  for (const char* const plain : {"http://host/a@b", "http://[::1]:4318", "host:80", "", "://"}) {
    EXPECT_EQ(UrlWithoutUser(plain), plain);
  }
}

}  // namespace
}  // namespace wherefore
