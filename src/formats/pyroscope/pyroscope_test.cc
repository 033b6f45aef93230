// What Pyroscope's clients send, piece by piece: names, types, forms, push messages, links, and the
// stack formats other than folded.
#include <gtest/gtest.h>

#include "base/text.h"
#include "formats/link_labels.h"
#include "formats/pyroscope/senders.h"
#include "formats/pyroscope/upload.h"
#include "formats/testing.h"
#include "formats/wire/multipart.h"
#include "profile/batch_tree.h"
#include "profile/type_id.h"

namespace wherefore::formats {
namespace {

using testing::Shared;

// The tree of the only profile, as folded text.
std::string Folded(const Result<DecodedProfiles>& decoded) {
  if (!decoded) return decoded.error().message();
  EXPECT_TRUE(decoded->data.Validate());
  profile::TreeBuilder builder;
  profile::BatchNamer namer(decoded->data, builder);
  for (std::size_t i = 0; i < decoded->data.samples.size(); ++i) {
    namer.AddStack(decoded->data.samples.stack[i], decoded->data.samples.value[i], 1);
  }
  return EncodeFolded(builder.Build());
}

std::string TypeIds(const profile::Batch& batch) {
  std::string ids;
  for (const profile::Profile& p : batch.profiles) ids += profile::TypeOf(batch, p).Id() + "\n";
  return ids;
}

TEST(AppName, NameAndLabelsAreReadAndPrivateLabelsLeftOut) {
  const auto name = ParseAppName(
      "shop.api{env=prod,region= eu west ,v=a=b/c,__session_id__=1f,otel.scope.name=x+y} rest");
  ASSERT_TRUE(name) << name.error().message();
  EXPECT_EQ(name->service, "shop.api");
  EXPECT_EQ(
      name->labels,
      (TextLabels{
          {"env", "prod"}, {"region", "eu west"}, {"v", "a=b/c"}, {"otel.scope.name", "x+y"}}));
  EXPECT_EQ(ParseAppName(" shop ")->service, "shop");
  EXPECT_TRUE(ParseAppName("shop{}")->labels.empty());
}

TEST(AppName, WhatIsWrongIsSaid) {
  EXPECT_NE(ParseAppName("").error().message().find("is expected"), std::string::npos);
  EXPECT_NE(ParseAppName("{a=b}").error().message().find("is expected"), std::string::npos);
  EXPECT_NE(ParseAppName("a b").error().message().find("letters"), std::string::npos);
  EXPECT_NE(ParseAppName("a{b=c").error().message().find("closing"), std::string::npos);
  EXPECT_NE(ParseAppName("a{b}").error().message().find("key=value"), std::string::npos);
  EXPECT_NE(ParseAppName("a{b-c=d}").error().message().find("key"), std::string::npos);
}

TEST(StacksType, ComesFromTheLastPartOfTheName) {
  std::string service = "shop.api.alloc_space";
  auto context = StacksTypeOf(service, 100);
  ASSERT_TRUE(context);
  EXPECT_EQ(service, "shop.api");
  EXPECT_EQ(context->name + ":" + context->type + ":" + context->unit, "memory:alloc_space:bytes");
  EXPECT_EQ(context->multiplier, 1);
  service = "shop";
  context = StacksTypeOf(service, 100);
  EXPECT_EQ(service, "shop");
  EXPECT_EQ(context->type, "cpu");
  EXPECT_EQ(context->multiplier, 10'000'000);
  EXPECT_EQ(StacksTypeOf(service, 0)->type, "samples");
  service = "shop.api";
  EXPECT_EQ(StacksTypeOf(service, 100).error().code(), Code::kInvalid);
}

TEST(PprofName, FollowsTheSendersDisplayNames) {
  EXPECT_EQ(PprofName({"samples", "cpu"}, {}), "process_cpu");
  EXPECT_EQ(PprofName({"samples", "wall", "cpu"}, {}), "wall");
  EXPECT_EQ(PprofName({"alloc_objects", "inuse_space"}, {}), "memory");
  EXPECT_EQ(PprofName({"contentions", "delay"}, {}), "mutex");
  EXPECT_EQ(PprofName({"goroutine"}, {}), "goroutines");
  EXPECT_EQ(PprofName({"odd"}, {}), "odd");
  const auto block = ParseSampleTypeConfig(
      R"({"contentions":{"display-name":"block_count","units":"lock_samples","cumulative":false},)"
      R"("delay":{"display-name":"block_duration"}})");
  ASSERT_TRUE(block);
  EXPECT_EQ(PprofName({"contentions", "delay"}, *block), "block");
  EXPECT_EQ(block->at("contentions").cumulative, false);
  EXPECT_EQ(ParseSampleTypeConfig("[1]").error().code(), Code::kCorrupt);
}

TEST(Multipart, PartsComeWithNameFilenameAndBytes) {
  const std::string body =
      "preamble\r\n--b x\r\nContent-Disposition: form-data; name=\"profile\"; "
      "filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n"
      "\x1f\x8b\r\n--b\r\nx\r\n--b x\r\ncontent-disposition: form-data; name=jfr\r\n\r\n\r\n--b "
      "x--";
  const auto parts = ParseMultipart(body, "multipart/form-data; boundary=\"b x\"");
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->at(0).name, "profile");
  EXPECT_EQ(parts->at(0).filename, "profile.pprof");
  EXPECT_EQ(parts->at(0).bytes, "\x1f\x8b\r\n--b\r\nx");
  EXPECT_EQ(parts->at(1).name, "jfr");
  EXPECT_EQ(parts->at(1).filename, "");
  EXPECT_EQ(parts->at(1).bytes, "");
}

TEST(Multipart, BrokenBodiesAreRefused) {
  const auto wrong = [](std::string_view body, std::string_view type) {
    const auto parts = ParseMultipart(body, type);
    return parts ? "" : parts.error().message();
  };
  EXPECT_NE(wrong("x", "multipart/form-data").find("no boundary"), std::string::npos);
  EXPECT_NE(wrong("x", "multipart/form-data; boundary=b").find("not occur"), std::string::npos);
  EXPECT_NE(wrong("--b\r\nContent", "multipart/form-data; boundary=b").find("ends in"),
            std::string::npos);
  EXPECT_NE(wrong("--b\r\nX: y\r\n\r\n1\r\n--b--", "multipart/form-data; boundary=b").find("name"),
            std::string::npos);
  EXPECT_NE(wrong("--b\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\n1",
                  "multipart/form-data; boundary=b")
                .find("does not end"),
            std::string::npos);
}

TEST(Push, BinaryAndJsonAreTheSame) {
  // One series with one label and one sample, by hand: the numbers are the contract.
  const std::string label = "\x0a\x0cservice_name\x12\x04shop";
  const std::string sample =
      std::string("\x0a\x03pb\xff\x12\x24") + "0102030405060708-090a0b0c0d0e0f10---";
  const std::string series = std::string("\x0a") + static_cast<char>(label.size() + 0) + label +
                             "\x12" + static_cast<char>(sample.size()) + sample;
  const std::string bytes = std::string("\x0a") + static_cast<char>(series.size()) + series;
  const auto binary = DecodePush(bytes);
  const auto json = DecodePushJson(
      R"({"series":[{"labels":[{"name":"service_name","value":"shop"}],)"
      R"("samples":[{"rawProfile":"cGL/","ID":"01020304-0506-0708-090a-0b0c0d0e0f10"}]}]})");
  for (const auto* push : {&binary, &json}) {
    ASSERT_TRUE(*push) << push->error().message();
    ASSERT_EQ((*push)->size(), 1U);
    EXPECT_EQ((*push)->at(0).labels, (TextLabels{{"service_name", "shop"}}));
    ASSERT_EQ((*push)->at(0).samples.size(), 1U);
    EXPECT_EQ(*(*push)->at(0).samples[0].profile, "pb\xff");
    EXPECT_EQ(ToHex((*push)->at(0).samples[0].id), "0102030405060708090a0b0c0d0e0f10");
  }
  EXPECT_EQ(DecodePush(bytes.substr(0, 9)).error().message().substr(0, 9), "series[0]");
}

TEST(Link, EverySpellingOfASpanIsOne) {
  LinkReader link;
  EXPECT_FALSE(link.found());
  EXPECT_FALSE(link.Read("span_id", "xyz"));
  EXPECT_FALSE(link.Read("span_id", "0000000000000000"));
  EXPECT_FALSE(link.Read("endpoint", "0102030405060708"));
  EXPECT_TRUE(link.Read("local root span id", "1"));
  EXPECT_EQ(ToHex(link.link().span), "0000000000000001");
  EXPECT_TRUE(link.Read("span id", "72623859790382856"));
  EXPECT_EQ(ToHex(link.link().span), "0102030405060708");
  EXPECT_TRUE(link.Read("local root span id", "1"));
  EXPECT_EQ(ToHex(link.link().span), "0102030405060708") << "the narrower span counts";
  EXPECT_TRUE(link.Read("otel.traceid", "0102030405060708090a0b0c0d0e0f10"));
  EXPECT_TRUE(link.found());
  LinkReader old;
  EXPECT_TRUE(old.Read("profile_id", "0102030405060708"));
  EXPECT_TRUE(old.found());
}

TEST(Link, AttributesOfSamplesMakeALinkAndStay) {
  profile::Batch b;
  b.attributes.push_back(
      {b.AddText("span_id"), 0, {profile::Value::Kind::kString, b.AddText("0102030405060708"), 0}});
  b.attributes.push_back(
      {b.AddText("endpoint"), 0, {profile::Value::Kind::kString, b.AddText("/a"), 0}});
  b.attribute_refs = {1, 2, 2};
  b.links.push_back({.span = {9}});
  b.samples.Append(0, {0, 2}, 0, 1, {}, {});
  b.samples.Append(0, {2, 1}, 0, 1, {}, {});
  b.samples.Append(0, {0, 1}, 1, 1, {}, {});
  LinkSamplesByAttributes(b);
  EXPECT_EQ(ToHex(b.links.at(b.samples.link[0]).span), "0102030405060708");
  EXPECT_EQ(b.samples.attributes[0].count, 2U);
  EXPECT_EQ(b.samples.link[1], 0U);
  EXPECT_EQ(b.samples.link[2], 1U) << "the sender's own link counts";
}

TEST(Trie, PiecesAreJoinedAlongThePath) {
  // "main" -> { ";a" 3, ";b" -> { "c" 4, ";d" 5 } }
  const std::string bytes(
      "\x04main\x00\x02"
      "\x02;a\x03\x00"
      "\x02;b\x00\x02"
      "\x01"
      "c\x04\x00"
      "\x02;d\x05\x00",
      26);
  EXPECT_EQ(Folded(DecodeTrie(Shared(bytes), {})), "main;a 3\nmain;b;d 5\nmain;bc 4\n");
}

TEST(Tree, NodesAreFramesWithTheirOwnValue) {
  // "" -> main (1) -> { a 3, b 0 -> c 4 }
  const std::string bytes(
      "\x00\x00\x01"
      "\x04main\x01\x02"
      "\x01"
      "a\x03\x00"
      "\x01"
      "b\x00\x01"
      "\x01"
      "c\x04\x00",
      22);
  const auto decoded = DecodeTree(Shared(bytes), {.service = "s", .name = "process_cpu"});
  EXPECT_EQ(Folded(decoded), "main 1\nmain;a 3\nmain;b;c 4\n");
}

TEST(Tree, BrokenBytesAreRefusedWithTheirPlace) {
  for (const std::string& bytes :
       {std::string(), std::string("\x05main", 5), std::string("\x00\x00\x09", 3),
        std::string("\x00\x00\x00\x00", 4),
        std::string("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 12)}) {
    for (const auto decode : {DecodeTree, DecodeTrie}) {
      const auto decoded = decode(Shared(bytes), {});
      ASSERT_FALSE(decoded) << ToHex(bytes);
      EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
      EXPECT_NE(decoded.error().message().find("byte"), std::string::npos);
    }
  }
}

TEST(Tree, AChainThatWouldBeQuadraticIsRefused) {
  std::string chain;
  for (int i = 0; i < 50'000; ++i) chain += std::string("\x01x\x01\x01", 4);
  chain += std::string("\x01x\x01\x00", 4);
  EXPECT_FALSE(DecodeTree(Shared(chain), {}));
  EXPECT_FALSE(DecodeTrie(Shared(chain), {}));
}

TEST(Lines, EachLineCountsOnce) {
  EXPECT_EQ(Folded(DecodeLines(Shared("main;a\nmain;a\nmain;b\n"), {})), "main;a 2\nmain;b 1\n");
}

TEST(Speedscope, SampledAndEventedProfilesAreRead) {
  const auto decoded = DecodeSpeedscope(
      Shared(R"({"$schema":"x","shared":{"frames":[{"name":"main"},{"name":"a"}]},"profiles":[
        {"type":"sampled","name":"one","unit":"milliseconds","samples":[[0],[0,1]],"weights":[1.5,2]},
        {"type":"evented","name":"two","unit":"bytes","events":[
          {"type":"O","frame":0,"at":10},{"type":"O","frame":1,"at":12},
          {"type":"C","frame":1,"at":15},{"type":"C","frame":0,"at":16}]}]})"),
      {.service = "s",
       .name = "process_cpu",
       .type = "cpu",
       .unit = "nanoseconds",
       .period_type = "cpu",
       .period_unit = "nanoseconds",
       .period = 10,
       .multiplier = 10});
  ASSERT_TRUE(decoded) << decoded.error().message();
  ASSERT_TRUE(decoded->data.Validate());
  EXPECT_EQ(TypeIds(decoded->data),
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds\nmemory:samples:bytes::\n");
  EXPECT_EQ(Folded(decoded), "main 1500003\nmain;a 2000003\n");
}

TEST(Speedscope, BrokenFilesAreRefusedWithTheirPlace) {
  const auto wrong = [](const char* json) {
    const auto decoded = DecodeSpeedscope(Shared(json), {});
    return decoded ? "" : decoded.error().message();
  };
  EXPECT_EQ(wrong("{").substr(0, 4), "JSON");
  EXPECT_EQ(wrong("{}"), "shared.frames: is missing");
  EXPECT_EQ(wrong(R"({"shared":{"frames":[]},"profiles":[{"type":"sampled","unit":"none",
    "samples":[[0]],"weights":[1]}]})"),
            "profiles[0]: a frame is not one of the 0 in shared.frames");
  EXPECT_EQ(wrong(R"({"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented",
    "unit":"none","events":[{"type":"C","frame":0,"at":1}]}]})"),
            "profiles[0]: a frame is closed that is not the innermost open one");
}

TEST(PyroscopeSenders, EachHasItsHabits) {
  for (const char* spy : {"pyspy", "rbspy", "scripting"})
    EXPECT_TRUE(HabitsOf(spy, {}).file_in_names) << spy;
  EXPECT_FALSE(HabitsOf("gospy", {}).file_in_names);
  EXPECT_TRUE(HabitsOf("gospy", {}).sends_differences);
  EXPECT_FALSE(HabitsOf("unknown", {{"inuse_space", {}}}).sends_differences);
  EXPECT_TRUE(HabitsOf("unknown", {{"inuse_space", {.cumulative = true}}}).sends_differences);
  EXPECT_TRUE(HabitsOf("dotnetspy", {}).dash_to_underscore);
  EXPECT_TRUE(HabitsOf("unknown", {{"inuse-space", {}}}).dash_to_underscore);
  EXPECT_FALSE(HabitsOf("javaspy", {{"inuse-space", {}}}).dash_to_underscore);
}

TEST(PyroscopeSenders, LabelsThatAreNoneAreTakenOut) {
  const StoredLabels stored = LabelsOfUpload(
      {.service = "app", .labels = {{"service_name", "shop"}, {"span_id", "00000000000000a1"}}},
      "gospy");
  EXPECT_EQ(stored.service, "shop");
  EXPECT_EQ(stored.labels, (TextLabels{{"app_name", "app"}, {"pyroscope_spy", "gospy"}}));
  EXPECT_EQ(stored.link.span[7], 0xa1);
  const SeriesFacts facts = FactsOfSeries(
      {{"__name__", "godeltaprof_memory"}, {"__x__", "y"}, {"service_name", ""}, {"zone", "a"}});
  EXPECT_EQ(facts.name, "memory");
  EXPECT_TRUE(facts.sends_differences);
  EXPECT_EQ(facts.stored.service, "unknown_service");
  EXPECT_EQ(facts.stored.labels, (TextLabels{{"zone", "a"}}));
}

}  // namespace
}  // namespace wherefore::formats
