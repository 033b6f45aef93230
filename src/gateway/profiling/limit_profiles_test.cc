// What senders that do not obey `max_stack_depth` and `max_profile_size` are cut to.
#include "gateway/profiling/limit_profiles.h"

#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "gateway/process/test_requests.h"
#include "profile/observations.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Id;

std::string StackText(const Batch& batch, Id stack) {
  std::string text;
  for (const Id frame : batch.StackFrames(stack)) {
    const auto lines = batch.FrameLines(batch.frames[frame]);
    text += std::string(text.empty() ? "" : " ") +
            std::string(batch.Text(batch.functions[lines[0].function].name));
  }
  return text;
}

// Leaf first.
Id AddStack(Batch& batch, const std::vector<std::string>& names) {
  const auto begin = static_cast<std::uint32_t>(batch.stack_frames.size());
  for (const std::string& name : names) {
    batch.functions.push_back({.name = batch.AddText(name)});
    batch.lines.push_back({.function = static_cast<Id>(batch.functions.size() - 1)});
    batch.frames.push_back({.lines = {static_cast<std::uint32_t>(batch.lines.size() - 1), 1}});
    batch.stack_frames.push_back(static_cast<Id>(batch.frames.size() - 1));
  }
  batch.stacks.push_back({begin, static_cast<std::uint32_t>(names.size())});
  return static_cast<Id>(batch.stacks.size() - 1);
}

void BeginProfile(Batch& batch, Id resource) {
  batch.profiles.push_back(
      {.resource = resource,
       .sample_type = {.type = batch.AddText("cpu"), .unit = batch.AddText("nanoseconds")},
       .first_sample = static_cast<std::uint32_t>(batch.samples.size())});
}
void AddSample(Batch& batch, Id stack, std::int64_t value, profile::Range attributes = {}) {
  batch.samples.Append(stack, attributes, 0, value, {}, {});
  ++batch.profiles.back().sample_count;
}

std::map<std::string, std::int64_t> Sums(const Batch& batch) {
  std::map<std::string, std::int64_t> sums;
  for (const profile::Profile& p : batch.profiles) {
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      sums[StackText(batch, batch.samples.stack[i])] += batch.samples.value[i];
    }
  }
  return sums;
}

std::int64_t AllObservations(const Batch& batch) {
  std::int64_t n = 0;
  for (const profile::Profile& p : batch.profiles) {
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      n += profile::Observations(batch, p, i);
    }
  }
  return n;
}

TEST(LimitProfiles, DeepStacksGetATruncatedRoot) {
  Batch batch;
  BeginProfile(batch, AddResource(batch, "shop"));
  AddSample(batch, AddStack(batch, {"leaf", "b", "c", "main"}), 5);
  AddSample(batch, AddStack(batch, {"leaf", "main"}), 7);
  // As a sender that obeys the same limit wrote it.
  AddSample(batch, AddStack(batch, {"x", "y", "[truncated]"}), 11);
  EXPECT_EQ(LimitProfiles(batch, {.max_stack_depth = 2}).stacks, 1u);
  ASSERT_TRUE(batch.Validate());
  EXPECT_EQ(Sums(batch),
            (std::map<std::string, std::int64_t>{
                {"leaf b [truncated]", 5}, {"leaf main", 7}, {"x y [truncated]", 11}}));
  EXPECT_FALSE(LimitProfiles(batch, {.max_stack_depth = 2}).changed()) << "a second server";
  for (const std::string_view text : batch.strings) EXPECT_NE(text, "c") << "left with the tables";
}

// Many distinct stacks of random size.
Batch LargeBatch(int stacks, bool labels) {
  Batch batch;
  BeginProfile(batch, AddResource(batch, "shop"));
  for (int i = 0; i < stacks; ++i) {
    profile::Range attributes;
    if (labels) {
      attributes = {static_cast<std::uint32_t>(batch.attribute_refs.size()), 1};
      batch.attribute_refs.push_back(static_cast<Id>(batch.attributes.size()));
      batch.attributes.push_back(
          {.key = batch.AddText("user"),
           .value = {.kind = profile::Value::Kind::kString,
                     .text = batch.AddText("user number " + std::to_string(i))}});
    }
    AddSample(batch, AddStack(batch, {"leaf_" + std::to_string(i * 7919 % stacks), "main"}),
              i * 7919 % stacks + 1, attributes);
  }
  return batch;
}

TEST(LimitProfiles, SmallestStacksBecomeOther) {
  constexpr int kStacks = 5000;
  constexpr std::int64_t kLimit = 64'000;
  for (const bool labels : {false, true}) {
    Batch batch = LargeBatch(kStacks, labels);
    ASSERT_GT(formats::EncodeOtlpProfiles(batch).size(), std::size_t{2 * kLimit});
    EXPECT_EQ(LimitProfiles(batch, {.max_profile_bytes = kLimit}).profiles, 1u);
    ASSERT_TRUE(batch.Validate());
    const std::string encoded = formats::EncodeOtlpProfiles(batch);
    EXPECT_LE(encoded.size(), std::size_t{kLimit});
    const auto decoded = formats::DecodeOtlpProfiles(std::make_shared<const std::string>(encoded));
    ASSERT_TRUE(decoded);
    auto sums = Sums(decoded->data);
    const std::int64_t other = sums["[other]"];
    sums.erase("[other]");
    std::int64_t total = other;
    std::int64_t smallest = kStacks;
    for (const auto& [stack, value] : sums) {
      total += value;
      smallest = std::min(smallest, value);
    }
    EXPECT_EQ(total, std::int64_t{kStacks} * (kStacks + 1) / 2);
    EXPECT_EQ(other, (smallest - 1) * smallest / 2) << "those that went are the smallest";
    EXPECT_GT(sums.size(), labels ? 0u : 100u);
    EXPECT_EQ(AllObservations(decoded->data), kStacks);
  }
}

TEST(LimitProfiles, WhatFitsStaysAsItIs) {
  Batch batch = LargeBatch(100, true);
  EXPECT_FALSE(LimitProfiles(batch, {.max_stack_depth = 2, .max_profile_bytes = 64'000}).changed());
  EXPECT_FALSE(LimitProfiles(batch, {}).changed());
}

}  // namespace
}  // namespace wherefore::gateway
