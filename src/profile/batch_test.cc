// Clones of batches, and what BlankUnused leaves.
#include "profile/batch.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "profile/sink.h"
#include "profile/span_batch.h"
#include "profile/unused.h"

namespace wherefore::profile {
namespace {

// Two profiles, each with a function and an attribute of its own.
Batch TwoProfiles() {
  Batch batch;
  for (const char* name : {"first", "second"}) {
    const Id text = batch.AddText(name);
    batch.functions.push_back({.name = text});
    batch.lines.push_back({.function = static_cast<Id>(batch.functions.size() - 1)});
    batch.frames.push_back({.lines = {static_cast<std::uint32_t>(batch.lines.size() - 1), 1}});
    batch.stack_frames.push_back(static_cast<Id>(batch.frames.size() - 1));
    batch.stacks.push_back({static_cast<std::uint32_t>(batch.stack_frames.size() - 1), 1});
    batch.attributes.push_back(
        {.key = batch.AddText("key"),
         .value = {.kind = Value::Kind::kString, .text = batch.AddText(name + std::string("!"))}});
    batch.attribute_refs.push_back(static_cast<Id>(batch.attributes.size() - 1));
    const Range refs{static_cast<std::uint32_t>(batch.attribute_refs.size() - 1), 1};
    batch.profiles.push_back(
        {.first_sample = static_cast<std::uint32_t>(batch.samples.size()), .sample_count = 1});
    batch.samples.Append(static_cast<Id>(batch.stacks.size() - 1), refs, 0, 7, {}, {});
  }
  return batch;
}

TEST(Batch, ACloneOutlivesItsOriginalAndDoesNotFollowIt) {
  std::optional<Batch> original = TwoProfiles();
  Batch clone = original->Clone();
  Batch of_clone = clone.Clone();
  original->functions[1].name = original->AddText("changed");
  const Id added = clone.AddText("only here");
  original.reset();
  ASSERT_TRUE(clone.Validate());
  EXPECT_EQ(clone.Text(clone.functions[1].name), "first");
  EXPECT_EQ(clone.Text(added), "only here");
  clone = Batch();
  ASSERT_TRUE(of_clone.Validate());
  EXPECT_EQ(of_clone.Text(of_clone.functions[2].name), "second");
  EXPECT_EQ(of_clone.samples.value, (std::vector<std::int64_t>{7, 7}));
}

TEST(Batch, ACloneSharesTheBody) {
  auto body = std::make_shared<const std::string>("a text that is longer than any small string");
  SpanBatch original;
  original.Own(body);
  original.spans.push_back({.name = original.AddView(*body)});
  WriteRequest request;
  request.data = std::move(original);
  request.tenant_name = "who";
  const WriteRequest clone = request.Clone();
  const auto& spans = std::get<SpanBatch>(clone.data);
  EXPECT_EQ(spans.Text(spans.spans[0].name).data(), body->data());
  EXPECT_EQ(clone.tenant_name, "who");
  EXPECT_EQ(body.use_count(), 3);
}

TEST(Batch, WhatNothingReachesIsEmptied) {
  Batch batch = TwoProfiles();
  batch.profiles.erase(batch.profiles.begin());
  BlankUnused(batch);
  ASSERT_TRUE(batch.Validate());
  for (const std::string_view text : batch.strings) EXPECT_FALSE(text.starts_with("first")) << text;
  EXPECT_EQ(batch.functions[1].name, 0u);
  EXPECT_EQ(batch.Text(batch.functions[2].name), "second");
  const Attribute& kept = batch.attributes[2];
  EXPECT_EQ(batch.Text(kept.key), "key");
  EXPECT_EQ(batch.Text(kept.value.text), "second!");
}

}  // namespace
}  // namespace wherefore::profile
