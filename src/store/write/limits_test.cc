// What one request may cost: label sets are built in linear time, and what goes over a limit is
// refused with the place, on the thread that decoded it.
#include "profile/limits.h"

#include <chrono>

#include "store/test_batch.h"
#include "store/test_store.h"
#include "store/write/content_hash.h"
#include "store/write/label_set.h"

namespace wherefore::store {
namespace {

using profile::AttributePlace;

profile::Attribute Text(profile::TextPool& pool, std::string_view key, std::string_view value) {
  const profile::Id id = pool.AddText(key);
  return {id, 0, {profile::Value::Kind::kString, pool.AddText(value), 0}};
}

TEST(LabelSet, TheNearerPlaceWinsAndTheOrderDoesNotMatter) {
  profile::Batch pool;
  LabelSet one;
  one.Add(AttributePlace::kResource, pool, Text(pool, "b", "far"));
  one.Add(AttributePlace::kResource, pool, Text(pool, "a", "1"));
  one.Add(AttributePlace::kProfile, pool, Text(pool, "b", "near"));
  one.Add(AttributePlace::kProfile, pool, Text(pool, "thread.id", "7"));
  one.Add(AttributePlace::kProfile, pool, Text(pool, "wherefore.profile.reduced", "conditional"));
  one.Finish();
  EXPECT_EQ(one.labels(), (LabelSet::Labels{{"a", "1"}, {"b", "near"}}));
  EXPECT_FALSE(one.rest().empty()) << "kept beside the labels";

  LabelSet two;
  two.Add(AttributePlace::kProfile, pool, Text(pool, "b", "near"));
  two.Add(AttributePlace::kResource, pool, Text(pool, "a", "1"));
  two.Add(AttributePlace::kResource, pool, Text(pool, "b", "far"));
  two.Finish();
  EXPECT_EQ(one.encoded(), two.encoded());

  EXPECT_EQ(Merge({{"a", "1"}, {"c", "3"}}, {{"b", "2"}, {"c", "nearer"}, {"d", "4"}}),
            (LabelSet::Labels{{"a", "1"}, {"b", "2"}, {"c", "nearer"}, {"d", "4"}}));
  EXPECT_EQ(Merge({}, {{"a", "1"}}), (LabelSet::Labels{{"a", "1"}}));
  EXPECT_EQ(Merge({{"a", "1"}}, {}), (LabelSet::Labels{{"a", "1"}}));
}

TEST(LabelSet, AHundredThousandLabelsTakeNoTime) {
  profile::Batch pool;
  LabelSet set;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) {
    set.Add(AttributePlace::kSample, pool, Text(pool, fmt::format("key{}", i), "v"));
  }
  set.Finish();
  EXPECT_EQ(set.labels().size(), 100'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// What the sender is told of a request of one good profile and one that `samples` and `options`
// make bad.
class Limits : public testing::Test {
 protected:
  static std::string Answer(const BatchBuilder::Options& options,
                            const std::vector<BatchBuilder::Sample>& samples) {
    BatchBuilder builder;
    BatchBuilder::Options good;
    good.time_ns = NowUnixNs();
    builder.Add(good, {{.stack = {"f", "main"}, .value = 5}});
    BatchBuilder::Options bad = options;
    bad.time_ns = good.time_ns;
    builder.Add(bad, samples);
    const profile::WriteRequest request = builder.Request("one");
    ContentHashes hashes;
    hashes.Compute(std::get<profile::Batch>(request.data));
    EXPECT_FALSE(hashes.Refused(0));
    EXPECT_EQ(hashes.Refused(1), !hashes.problem().empty());
    return hashes.problem();
  }
  static Labels Many(std::size_t count, const std::string& value = "v") {
    Labels labels;
    for (std::size_t i = 0; i < count; ++i) labels.emplace_back(fmt::format("key{}", i), value);
    return labels;
  }
};

TEST_F(Limits, LabelsOfASampleAndOfAProfile) {
  using profile::kMaxProfileLabels;
  using profile::kMaxSampleLabels;
  EXPECT_EQ(Answer({}, {{.stack = {"f"}}, {.stack = {"f"}, .attributes = Many(kMaxSampleLabels)}}),
            "");
  EXPECT_EQ(
      Answer({}, {{.stack = {"f"}}, {.stack = {"f"}, .attributes = Many(kMaxSampleLabels + 1)}}),
      "profile 1: sample 1: 129 labels, a sample may have 128");
  EXPECT_EQ(Answer({.resource = Many(kMaxProfileLabels - 1)}, {}), "") << "and service.name";
  EXPECT_EQ(Answer({.resource = Many(kMaxProfileLabels - 1), .attributes = Many(1)}, {}),
            "profile 1: 513 labels, a profile with its resource and scope may have 512");
  EXPECT_NE(Answer({}, {{.stack = {"f"}, .attributes = Many(2, std::string(600'000, 'x'))}})
                .find("bytes of labels"),
            std::string::npos);
}

TEST_F(Limits, FramesOfAStack) {
  EXPECT_EQ(Answer({}, {{.stack = std::vector<std::string>(profile::kMaxStackFrames, "f")}}), "");
  EXPECT_EQ(Answer({}, {{.stack = std::vector<std::string>(profile::kMaxStackFrames + 1, "f")}}),
            "profile 1, sample 0: 16385 frames, a stack may have 16384");
}

TEST_F(Limits, NamesOfTypes) {
  EXPECT_NE(Answer({.type = std::string(5000, 't')}, {}).find("type"), std::string::npos);
}

TEST_F(Limits, WhatReferencesWouldBecome) {
  // One attribute of 100 kB, and ten thousand samples that have it: a gigabyte in the store.
  profile::Batch batch;
  batch.profiles.emplace_back();
  batch.attributes.push_back(Text(batch, "thread.id", std::string(100'000, 'x')));
  for (profile::Id i = 0; i < 10'000; ++i) {
    batch.attribute_refs.push_back(1);
    batch.samples.Append(0, {i, 1}, 0, 1, {}, {});
  }
  batch.profiles[0].sample_count = 10'000;
  ContentHashes hashes;
  hashes.Compute(batch);
  EXPECT_TRUE(hashes.Refused(0));
  EXPECT_NE(hashes.problem().find("labels of the request would take more than"), std::string::npos)
      << hashes.problem();

  // The same with functions that share one long name.
  profile::Batch names;
  const profile::Id name = names.AddText(std::string(100'000, 'n'));
  names.profiles.emplace_back();
  for (profile::Id i = 1; i <= 10'000; ++i) {
    names.functions.push_back({name, 0, 0, i});
    names.lines.push_back({i, 0, 0});
    names.frames.push_back({0, 0, {i - 1, 1}, {}});
    names.stack_frames.push_back(i);
    names.stacks.push_back({i - 1, 1});
    names.samples.Append(i, {}, 0, 1, {}, {});
  }
  names.profiles[0].sample_count = 10'000;
  hashes.Compute(names);
  EXPECT_TRUE(hashes.Refused(0));
  EXPECT_NE(hashes.problem().find("bytes in the store"), std::string::npos) << hashes.problem();
}

}  // namespace
}  // namespace wherefore::store
