// redact: a secret in every place a request has, and none of them left.
#include "gateway/process/redact.h"

#include <set>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "gateway/process/test_requests.h"

namespace wherefore::gateway {
namespace {

std::shared_ptr<const RedactRules> Rules(RedactRules::Options options = {}) {
  return *RedactRules::Make(std::move(options));
}

profile::Attribute ListAttribute(profile::TextPool& pool, std::string_view key,
                                 const std::vector<std::string_view>& items) {
  return {.key = pool.AddText(key),
          .value = {.kind = profile::Value::Kind::kArray,
                    .text = pool.AddText(formats::StringArrayValue(items))}};
}

TEST(RedactRules, AnyCaseAllowAndTheirNumbers) {
  const auto rules = Rules({.allow = {"tokenize"}});
  EXPECT_EQ(rules->Match("checkPASSWORD()"), 0u);
  EXPECT_EQ(rules->Match("my_Token"), 3u);
  EXPECT_FALSE(rules->Match("tokenize"));
  EXPECT_FALSE(rules->Match("harmless"));
  EXPECT_EQ(Rules()->Match("tokenize"), 3u);
  EXPECT_FALSE(RedactRules::Make({.patterns = {"("}}));
  EXPECT_FALSE(RedactRules::Make({.patterns = {""}}));
  EXPECT_FALSE(Rules({.patterns = {}})->Match("password"));
}

TEST(Redact, ProfilesEverywhere) {
  profile::Batch batch;
  const profile::Id resource =
      AddResource(batch, "token-service", {{"db.password", "hunter2"}, {"note", "a secret:1"}});
  AddProfile(batch, resource, "plain", "label", "secret:2");
  batch.functions[1].system_name = batch.AddText("_ZN6secret1Ev:3");
  batch.functions[1].filename = batch.AddText("/src/secret:4.cc");
  batch.mappings.push_back({.filename = batch.AddText("/lib/secret:5.so")});
  batch.scopes.push_back({.name = batch.AddText("secret:6"), .version = batch.AddText("secret:7")});
  batch.attributes.push_back(ListAttribute(batch, "list", {"fine", "secret:8"}));
  batch.attribute_refs.push_back(2);
  batch.profiles[0].attributes = {1, 1};
  (void)batch.AddText("secret:9 that nothing refers to");
  const std::string payload = "original file with secret:10";
  batch.profiles[0].payload = payload;
  batch.profiles[0].payload_format = batch.AddText("pprof");
  profile::WriteRequest request = RequestOf(std::move(batch));
  request.decoded.message = "could not read \"secret:11\"";

  ASSERT_TRUE(Redactor("redact", Rules()).Process(request));
  const profile::Batch& b = ProfilesOf(request);
  ASSERT_TRUE(b.Validate());
  EXPECT_FALSE(Mentions(request, "secret"));
  EXPECT_FALSE(Mentions(request, "hunter2"));
  EXPECT_FALSE(request.otlp_bytes);
  EXPECT_EQ(request.decoded.message, "[REDACTED]");
  EXPECT_EQ(b.Text(b.functions[1].name), "[REDACTED]");  // its mangled name would give it away
  EXPECT_EQ(b.Text(b.functions[1].system_name), "[REDACTED]");
  EXPECT_TRUE(b.profiles[0].payload.empty());
  EXPECT_EQ(OwnText(b, b.resources[1].attributes),
            "service.name=token-service db.password=[REDACTED] note=[REDACTED]");
  EXPECT_EQ(formats::StringArrayItems(b.Text(b.attributes[2].value.text)),
            (std::vector<std::string_view>{"fine", "[REDACTED]"}));
  // And not in what is sent on.
  EXPECT_EQ(formats::EncodeOtlpProfiles(b).find("secret"), std::string::npos);
}

TEST(Redact, SpansEverywhere) {
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, "shop");
  profile::Span span{.resource = resource,
                     .trace_state = batch.AddText("v=secret:1"),
                     .name = batch.AddText("GET /secret:2"),
                     .status_message = batch.AddText("wrong password:3")};
  span.attributes = AddOwn(batch, {{"url", "https://h/?token=4"}, {"ok", "fine"}});
  batch.events.push_back(
      {.name = batch.AddText("secret:5"), .attributes = AddOwn(batch, {{"credential", "6"}})});
  batch.links.push_back(
      {.trace_state = batch.AddText("secret:7"), .attributes = AddOwn(batch, {{"x", "secret:8"}})});
  span.events = {0, 1};
  span.links = {0, 1};
  batch.spans.push_back(span);
  profile::WriteRequest request = RequestOf(std::move(batch));
  ASSERT_TRUE(Redactor("redact", Rules()).Process(request));
  const profile::SpanBatch& b = SpansOf(request);
  ASSERT_TRUE(b.Validate());
  for (const char* gone : {"secret", "password", "token="}) EXPECT_FALSE(Mentions(request, gone));
  EXPECT_EQ(OwnText(b, b.spans[0].attributes), "url=[REDACTED] ok=fine");
  EXPECT_EQ(OwnText(b, b.events[0].attributes), "credential=[REDACTED]");
  EXPECT_EQ(b.spans[0].trace_state, 0u);
}

TEST(Redact, NestedMapsByKey) {
  // {"outer": {"password": "x", "n": 5}} as the decoder keeps it.
  std::string inner_map;
  formats::PbfWriter map(inner_map);
  {
    formats::PbfWriter list(map, formats::any_value::kMap);
    for (const auto& [key, number] : {std::pair("password", 5), {"n", 6}}) {
      formats::PbfWriter pair(list, formats::value_list::kValues);
      pair.add_string(formats::key_value::kKey, key);
      formats::PbfWriter value(pair, formats::key_value::kValue);
      value.add_int64(formats::any_value::kInt, number);
    }
  }
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, "shop");
  batch.spans.push_back(
      {.resource = resource, .trace = {1}, .id = {1}, .start_ns = 1, .end_ns = 2});
  batch.spans[0].attributes = {static_cast<std::uint32_t>(batch.own_attributes.size()), 1};
  batch.own_attributes.push_back(
      {.key = batch.AddText("outer"),
       .value = {.kind = profile::Value::Kind::kMap, .text = batch.AddText(inner_map)}});
  profile::WriteRequest request = RequestOf(std::move(batch));
  ASSERT_TRUE(Redactor("redact", Rules()).Process(request));
  const std::string out = formats::EncodeOtlpTraces(SpansOf(request));
  EXPECT_NE(out.find("[REDACTED]"), std::string::npos);
  EXPECT_NE(out.find("password"), std::string::npos);  // keys stay
  const auto again = formats::DecodeOtlpTraces(std::make_shared<const std::string>(out));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->rejected, 0u) << again->message;
}

TEST(Redact, WhatHasNoSecretGoesOnAsItCame) {
  profile::WriteRequest request = ProfileRequest("token-service", "work");
  ASSERT_TRUE(Redactor("redact", Rules()).Process(request));
  EXPECT_TRUE(request.otlp_bytes);
  EXPECT_TRUE(Mentions(request, "token-service"));
}

TEST(Redact, SaysWhatGoesAndCountsByRule) {
  std::set<std::string> found;
  profile::WriteRequest request = ProfileRequest("shop", "read_secret");
  (void)Redact(
      std::get<profile::Batch>(request.data), *Rules(),
      [&](std::string_view place, std::string_view text, std::size_t pattern) {
        found.insert(std::string(place) + "/" + std::string(text) + "/" + std::to_string(pattern));
      });
  EXPECT_EQ(found, std::set<std::string>{"function/read_secret/1"});
  profile::WriteRequest counted = ProfileRequest("shop", "read_secret");
  Redactor redactor("redact/counted", Rules());
  ASSERT_TRUE(redactor.Process(counted));
  EXPECT_EQ(redactor.facts().at(1).second, "1");
  EXPECT_EQ(redactor.facts().at(0).second, "0");
}

}  // namespace
}  // namespace wherefore::gateway
