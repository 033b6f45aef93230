// Conditions and the filter.
#include "gateway/process/filter.h"

#include <gtest/gtest.h>

#include "gateway/process/test_requests.h"

namespace wherefore::gateway {
namespace {

bool Holds(std::string_view text, bool bare = false) {
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, "shop", {{"env", "test"}});
  batch.spans.push_back(
      {.resource = resource, .name = batch.AddText("GET /health"), .kind = 2, .status_code = 2});
  batch.spans[0].attributes = AddOwn(batch, {{"user", "a \"b\""}});
  batch.own_attributes.push_back(
      {.key = batch.AddText("n"), .value = {.kind = profile::Value::Kind::kInt, .number = 7}});
  ++batch.spans[0].attributes.count;
  const auto condition = Condition::Parse(text, {.spans = true, .bare = bare});
  EXPECT_TRUE(condition) << text << ": " << condition.error().message();
  return condition && condition->Holds({.pool = &batch,
                                        .resource_attributes = batch.resources[resource].attributes,
                                        .span = batch.spans.data()});
}

TEST(Condition, Holds) {
  for (const char* text :
       {R"(span.name == "GET /health")", R"(resource.attributes["env"] == "test")",
        R"(span.attributes["user"] == "a \"b\"")", "span.status.code == STATUS_CODE_ERROR",
        R"(span.kind.string == "Server")", R"(IsMatch(span.name, "^GET /h"))",
        R"(span.attributes["n"] > 6.5 and span.attributes["n"] <= 7)",
        R"(span.attributes["none"] == nil)", R"(span.attributes["n"] != "7")",
        R"(not (span.name == "x" or span.name == "y") and true)", "true",
        R"(span.name=="GET /health"and not false)", R"(false or not not true)"}) {
    EXPECT_TRUE(Holds(text)) << text;
  }
}

TEST(Condition, DoesNotHold) {
  for (const char* text :
       {R"(span.name == "GET")", R"(span.attributes["n"] < "8")",
        R"(span.attributes["none"] == "")", R"(IsMatch(span.attributes["n"], "7"))",
        R"(span.name == "x" and true or false)", "not true"}) {
    EXPECT_FALSE(Holds(text)) << text;
  }
}

TEST(Condition, BarePathsWhereOlderFilesHaveThem) {
  EXPECT_TRUE(Holds(R"(attributes["n"] == 7 and name == "GET /health")", true));
  EXPECT_FALSE(Condition::Parse(R"(name == "x")", {.spans = true}));
}

TEST(Condition, MistakesNameTheCharacter) {
  const auto mistake = [](std::string_view text) {
    const auto parsed = Condition::Parse(text, {.spans = true});
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_TRUE(mistake("span.nam == 1").starts_with("at character 1: expected a value"));
  EXPECT_TRUE(mistake("span.name = 1").starts_with("at character 11: expected =="));
  EXPECT_TRUE(mistake("span.name == \"x").starts_with("at character 16: the text does not end"));
  EXPECT_TRUE(mistake("(true").starts_with("at character 6: expected )"));
  EXPECT_TRUE(mistake("true true").starts_with("at character 6: expected and"));
  EXPECT_TRUE(mistake("IsMatch(span.name, \"(\")").starts_with("at character 20: not a regular"));
  EXPECT_TRUE(mistake("profile.duration_unix_nano > 1").starts_with("at character 1:"));
  EXPECT_TRUE(mistake(std::string(1000, '(')).contains("nested too deeply"));
  EXPECT_FALSE(mistake("").empty());
}

TEST(Filter, DropsProfilesAndWhatOnlyTheyUsed) {
  profile::Batch batch;
  const profile::Id shop = AddResource(batch, "shop");
  const profile::Id test = AddResource(batch, "test only");
  AddProfile(batch, shop, "kept_function");
  AddProfile(batch, test, "dropped_function");
  profile::WriteRequest request = RequestOf(std::move(batch));
  Filter filter({.profiles = {*Condition::Parse(
                     R"(resource.attributes["service.name"] == "test only")", {})}});
  ASSERT_TRUE(filter.Process(request));
  const profile::Batch& left = ProfilesOf(request);
  ASSERT_TRUE(left.Validate());
  ASSERT_EQ(left.profiles.size(), 1u);
  EXPECT_EQ(left.samples.size(), 1u);
  EXPECT_FALSE(request.otlp_bytes);
  EXPECT_FALSE(Mentions(request, "dropped_function"));
  EXPECT_TRUE(Mentions(request, "kept_function"));
}

TEST(Filter, WhatNoConditionMeetsGoesOnAsItCame) {
  profile::WriteRequest request = SpanRequest("shop", "op");
  Filter filter({.spans = {*Condition::Parse(R"(span.name == "other")", {.spans = true})}});
  ASSERT_TRUE(filter.Process(request));
  EXPECT_TRUE(request.otlp_bytes);
  EXPECT_EQ(SpansOf(request).spans.size(), 1u);
}

}  // namespace
}  // namespace wherefore::gateway
