#include <gtest/gtest.h>

#include "formats/pyroscope/querier.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {
namespace {

TEST(PyroscopeQuerier, JsonAndProtobufAreTheSameRequest) {
  const auto json = DecodeQuerierRequest(
      QuerierMethod::kSelectMergeStacktraces,
      R"({"profileTypeID":"t","label_selector":"{}","start":"5","end":7,"maxNodes":"100",
          "format":"PROFILE_FORMAT_TREE","spanSelector":["a","b"],"unknown":[{}],
          "stackTraceSelector":{"callSite":[{"name":"main"},{"name":"f"}]}})",
      true);
  ASSERT_TRUE(json) << json.error().message();
  std::string body;
  {
    PbfWriter w(body);
    w.add_string(1, "t");
    w.add_string(2, "{}");
    w.add_int64(3, 5);
    w.add_int64(4, 7);
    w.add_int64(5, 100);
    w.add_int32(6, 2);
    w.add_string(11, "a");
    w.add_string(11, "b");
    w.add_string(99, "unknown");
    PbfWriter selector(w, 7);
    PbfWriter(selector, 1).add_string(1, "main");
    PbfWriter(selector, 1).add_string(1, "f");
  }
  const auto binary = DecodeQuerierRequest(QuerierMethod::kSelectMergeStacktraces, body, false);
  ASSERT_TRUE(binary);
  for (const QuerierRequest* r : {&*json, &*binary}) {
    EXPECT_EQ(r->type, "t");
    EXPECT_EQ(r->selector, "{}");
    EXPECT_EQ(r->start_ms, 5);
    EXPECT_EQ(r->end_ms, 7);
    EXPECT_EQ(r->max_nodes, 100);
    EXPECT_EQ(r->format, 2);
    EXPECT_EQ(r->spans, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(r->call_site, (std::vector<std::string>{"main", "f"}));
  }
}

TEST(PyroscopeQuerier, TheSameFieldHasOtherNumbersInOtherMethods) {
  std::string body;
  PbfWriter w(body);
  w.add_string(1, "t");
  w.add_string(3, "0102030405060708");
  w.add_int64(4, 5);
  w.add_int64(5, 7);
  const auto r = DecodeQuerierRequest(QuerierMethod::kSelectMergeSpanProfile, body, false);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->spans.size(), 1u);
  EXPECT_EQ(r->start_ms, 5);
  EXPECT_EQ(r->end_ms, 7);
}

TEST(PyroscopeQuerier, AnEnumNameNobodyKnowsIsKeptApart) {
  const auto r = DecodeQuerierRequest(QuerierMethod::kSelectMergeStacktraces,
                                      R"({"format":"PROFILE_FORMAT_FUNCTIONS"})", true);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->format, kUnknownEnum);
}

TEST(PyroscopeQuerier, WhatCannotBeReadIsRefused) {
  EXPECT_FALSE(DecodeQuerierRequest(QuerierMethod::kSeries, "\x0a\x7f", false));
  EXPECT_FALSE(DecodeQuerierRequest(QuerierMethod::kSeries, "{", true));
  EXPECT_FALSE(DecodeQuerierRequest(QuerierMethod::kSeries, R"({"start":"x"})", true));
  EXPECT_FALSE(DecodeDiffRequest("\x0a\x02\x0a\x7f", false));
  EXPECT_TRUE(DecodeQuerierRequest(QuerierMethod::kSeries, "", true));
}

TEST(PyroscopeQuerier, ResponsesAsJsonHaveLongNumbersAsStrings) {
  EXPECT_EQ(
      QuerierJson(QuerierMethod::kSelectSeries,
                  EncodeTimeSeries({{.labels = {{"a", "b"}},
                                     .points = {{.value = 1.5, .time_ms = 1'700'000'000'000}}}})),
      R"({"series":[{"labels":[{"name":"a","value":"b"}],)"
      R"("points":[{"value":1.5,"timestamp":"1700000000000"}]}]})");
  EXPECT_EQ(QuerierJson(
                QuerierMethod::kSelectHeatmap,
                EncodeHeatmap({{.slots = {{.time_ms = 1, .y_min = {0, 2.5}, .counts = {3, 0}}}}})),
            R"({"series":[{"slots":[{"timestamp":"1","yMin":[0,2.5],"counts":[3,0]}]}]})");
  EXPECT_EQ(QuerierJson(QuerierMethod::kProfileTypes, EncodeProfileTypes({"n:t:u:p:v"})),
            R"({"profileTypes":[{"ID":"n:t:u:p:v","name":"n","sampleType":"t","sampleUnit":"u",)"
            R"("periodType":"p","periodUnit":"v"}]})");
}

TEST(PyroscopeQuerier, ATreeIsAPprofFileOfItsFunctions) {
  profile::TreeBuilder builder;
  const auto main = builder.Child(0, builder.AddFunction({.name = "main"}));
  builder.AddValue(builder.Child(main, builder.AddFunction({.name = "leaf"})), 4, 1);
  const std::string json = QuerierJson(QuerierMethod::kSelectMergeProfile,
                                       EncodePprofOfTree(builder.Build(), "n:t:u:p:v", 9));
  EXPECT_NE(json.find(R"("sample":[{"locationId":["1","2"],"value":["4"]}])"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("leaf")"), std::string::npos);
}

}  // namespace
}  // namespace wherefore::formats
