// resource and attributes.
#include "gateway/process/attribute_actions.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/text.h"
#include "gateway/process/test_requests.h"
#include "net/sha256.h"

namespace wherefore::gateway {
namespace {

using Kind = AttributeAction::Kind;
using Where = AttributeActions::Where;

std::shared_ptr<const re2::RE2> Pattern(const char* text) {
  return std::make_shared<const re2::RE2>(text);
}

// The attributes of the only span after the actions.
std::string OnSpan(const TextAttributes& attributes, std::vector<AttributeAction> actions) {
  profile::WriteRequest request = SpanRequest("shop", "op", attributes);
  EXPECT_TRUE(AttributeActions(Where::kItems, std::move(actions)).Process(request));
  const profile::SpanBatch& spans = SpansOf(request);
  EXPECT_TRUE(spans.Validate());
  return OwnText(spans, spans.spans[0].attributes);
}

TEST(AttributeActions, InsertUpdateUpsert) {
  EXPECT_EQ(OnSpan({{"a", "1"}}, {{.kind = Kind::kInsert, .key = "a", .value = "2"},
                                  {.kind = Kind::kInsert, .key = "b", .value = "3"}}),
            "a=1 b=3");
  EXPECT_EQ(OnSpan({{"a", "1"}}, {{.kind = Kind::kUpdate, .key = "a", .value = true},
                                  {.kind = Kind::kUpdate, .key = "b", .value = "3"}}),
            "a=true");
  EXPECT_EQ(OnSpan({{"a", "1"}}, {{.kind = Kind::kUpsert, .key = "a", .value = std::int64_t{5}},
                                  {.kind = Kind::kUpsert, .key = "b", .value = 1.5}}),
            "a=5 b=1.5");
}

TEST(AttributeActions, ValuesFromOtherAttributes) {
  EXPECT_EQ(OnSpan({{"a", "1"}}, {{.key = "b", .from_attribute = "a"}}), "a=1 b=1");
  EXPECT_EQ(OnSpan({{"a", "1"}}, {{.key = "b", .from_attribute = "no"}}), "a=1");
  EXPECT_EQ(OnSpan({{"a", "1"}},
                   {{.key = "b", .from_attribute = "no", .default_value = std::string("d")}}),
            "a=1 b=d");
}

TEST(AttributeActions, DeleteHashExtractConvert) {
  EXPECT_EQ(OnSpan({{"a", "1"}, {"bx", "2"}, {"cx", "3"}},
                   {{.kind = Kind::kDelete, .key = "a", .pattern = Pattern("^b")}}),
            "cx=3");
  EXPECT_EQ(OnSpan({{"a", "abc"}}, {{.kind = Kind::kHash, .key = "a"}}),
            "a=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      OnSpan({{"u", "GET /shop/7"}}, {{.kind = Kind::kExtract,
                                       .key = "u",
                                       .pattern = Pattern("(?P<method>\\w+) /(?P<part>\\w+)")}}),
      "u=GET /shop/7 method=GET part=shop");
  EXPECT_EQ(
      OnSpan({{"n", "12"}, {"t", "x"}},
             {{.kind = Kind::kConvert, .key = "n", .converted_type = profile::Value::Kind::kInt},
              {.kind = Kind::kConvert, .key = "t", .converted_type = profile::Value::Kind::kInt}}),
      "n=12 t=x");
}

TEST(AttributeActions, Sha256OfLongText) {
  EXPECT_EQ(ToHex(net::Sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(net::Sha256(std::string(1000, 'a'))),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(AttributeActions, TheSeedsResourceProcessorChangesNothing) {
  profile::WriteRequest request = SpanRequest("shop", "op");
  AttributeActions actions(
      Where::kResources,
      {{.kind = Kind::kUpsert, .key = "service.name", .from_attribute = "service.name"}});
  ASSERT_TRUE(actions.Process(request));
  EXPECT_TRUE(request.otlp_bytes);  // goes on as it came
  EXPECT_EQ(OwnText(SpansOf(request), SpansOf(request).resources[1].attributes),
            "service.name=shop");
}

TEST(AttributeActions, ResourcesOfProfilesAndSamples) {
  profile::Batch batch;
  const profile::Id resource = AddResource(batch, "shop", {{"user", "somebody"}});
  AddProfile(batch, resource, "f", "customer", "hidden one");
  AddProfile(batch, resource, "g", "kept", "yes");
  profile::WriteRequest request = RequestOf(std::move(batch));
  AttributeActions samples(Where::kItems, {{.kind = Kind::kDelete, .key = "customer"},
                                           {.kind = Kind::kInsert, .key = "env", .value = "x"}});
  AttributeActions resources(Where::kResources, {{.kind = Kind::kDelete, .key = "user"}});
  ASSERT_TRUE(samples.Process(request));
  ASSERT_TRUE(resources.Process(request));
  const profile::Batch& changed = ProfilesOf(request);
  ASSERT_TRUE(changed.Validate());
  EXPECT_FALSE(request.otlp_bytes);
  const auto text = [&](std::size_t sample) {
    std::string all;
    for (const profile::Id id : changed.AttributeRefs(changed.samples.attributes[sample])) {
      all += changed.Text(changed.attributes[id].key);
      all += ' ';
    }
    return all;
  };
  EXPECT_EQ(text(0), "env ");
  EXPECT_EQ(text(1), "kept env ");
  EXPECT_EQ(OwnText(changed, changed.resources[1].attributes), "service.name=shop");
  // What was taken out is not in the tables either.
  EXPECT_FALSE(Mentions(request, "hidden one"));
  EXPECT_FALSE(Mentions(request, "somebody"));
  EXPECT_TRUE(Mentions(request, "yes"));
}

}  // namespace
}  // namespace wherefore::gateway
