#include "profile/observations.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

TEST(Observations, OfASumAreKnownOnlyWhereItsTypeCountsThem) {
  Batch batch;
  const auto type = [&](std::string_view name, std::string_view unit) {
    return ValueType{.type = batch.AddText(name), .unit = batch.AddText(unit)};
  };
  Profile profile{.sample_type = type("alloc_space", "bytes"),
                  .period_type = type("cpu", "nanoseconds"),
                  .period = 10'000'000};
  EXPECT_TRUE(ObservationsKnown(batch, profile));  // one each
  profile.summed = true;
  EXPECT_FALSE(ObservationsKnown(batch, profile));
  profile.sample_type = profile.period_type;
  EXPECT_TRUE(ObservationsKnown(batch, profile));
  profile.period = 0;
  EXPECT_FALSE(ObservationsKnown(batch, profile));
  profile.sample_type = type("samples", "count");
  EXPECT_TRUE(ObservationsKnown(batch, profile));
}

TEST(Observations, ComeBackAsTheyWerePacked) {
  const std::vector<std::uint32_t> counts = {0, 1, 127, 128, 300, 1'000'000, UINT32_MAX};
  std::vector<std::uint32_t> back;
  ASSERT_TRUE(UnpackObservations(PackObservations(counts), counts.size(), back));
  EXPECT_EQ(back, counts);
  ASSERT_TRUE(UnpackObservations("", 0, back));
  EXPECT_TRUE(back.empty());
}

TEST(Observations, BytesThatAreNotOneNumberPerSampleAreRefused) {
  std::vector<std::uint32_t> back;
  const std::string two = PackObservations(std::vector<std::uint32_t>{1, 300});
  EXPECT_FALSE(UnpackObservations(two, 1, back));
  EXPECT_FALSE(UnpackObservations(two, 3, back));
  EXPECT_FALSE(UnpackObservations(two.substr(0, two.size() - 1), 2, back));
  EXPECT_FALSE(UnpackObservations("\xff\xff\xff\xff\x1f", 1, back)) << "33 bits";
  EXPECT_FALSE(UnpackObservations("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 1, back))
      << "71 bits";
}

TEST(Observations, WhatADecoderFoundComesBeforeWhatTheValueImplies) {
  Batch b;
  Profile p;
  p.sample_type = {.type = b.AddText("alloc_space"), .unit = b.AddText("bytes")};
  p.period_type = {.type = b.AddText("space"), .unit = b.AddText("bytes")};
  p.period = 1000;
  b.samples.Append(0, {}, 0, 5000, {}, {});
  EXPECT_EQ(Observations(b, p, 0), 1);
  b.samples.count = {4};
  EXPECT_EQ(Observations(b, p, 0), 4);
  EXPECT_EQ(ImpliedObservations(b, p, 0), 1);
}

}  // namespace
}  // namespace wherefore::profile
