#include "wherefore/context.h"

#include <thread>

#include <gtest/gtest.h>

#include "sdk/context/context.h"
#include "sdk/context/thread_symbol.h"

namespace wherefore::sdk {
namespace {

SpanContext Span(std::uint8_t number) {
  SpanContext span{};
  span.trace_id[15] = number;
  span.span_id[7] = number;
  span.flags = 1;
  return span;
}

std::string Record() {
  const auto* const bytes = static_cast<const char*>(ThreadSymbol());
  if (bytes == nullptr) return "none";
  std::uint16_t size = 0;
  std::memcpy(&size, bytes + 26, sizeof(size));
  return {bytes, kHeadBytes + size};
}

TEST(Context, ANewThreadHasNone) {
  std::thread([] {
    EXPECT_EQ(ThreadSymbol(), nullptr);
    EXPECT_FALSE(IsValid(CurrentSpan()));
  }).join();
}

TEST(Context, TheRecordIsLaidOutAsSpecified) {
  std::thread([] {
    SpanContext span{};
    for (int i = 0; i < 16; ++i) span.trace_id[i] = static_cast<std::uint8_t>(0xa0 + i);
    for (int i = 0; i < 8; ++i) span.span_id[i] = static_cast<std::uint8_t>(0xb0 + i);
    span.flags = 3;
    const SpanScope scope(span);
    const wherefore::LabelKey key("context_test.layout");
    const LabelScope label(key, "v1");
    const std::string expected =
        std::string(
            "\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf"
            "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\x01\x03\x04\x00",
            28) +
        static_cast<char>(key.index()) + "\x02v1";
    EXPECT_EQ(Record(), expected);
  }).join();
}

TEST(Context, ScopesNestAndPutBackWhatWasThere) {
  const SpanScope outer(Span(1));
  {
    const SpanScope inner(Span(2));
    EXPECT_EQ(CurrentSpan().span_id[7], 2);
    std::thread([] { EXPECT_FALSE(IsValid(CurrentSpan())); }).join();
  }
  EXPECT_EQ(CurrentSpan().span_id[7], 1);
  EXPECT_EQ(CurrentSpan().flags, 1);
}

TEST(Context, HalfASpanIsNone) {
  SpanContext half = Span(1);
  half.trace_id[15] = 0;
  const SpanScope scope(half);
  EXPECT_FALSE(IsValid(CurrentSpan()));
  EXPECT_EQ(Record().substr(0, 26), std::string(26, '\0'));
}

TEST(Context, LabelsWithoutASpanAreValidAndEndWithTheirScope) {
  const wherefore::LabelKey key("context_test.label");
  std::uint8_t labels[kLabelBytes];
  {
    const LabelScope label(key, "x");
    EXPECT_FALSE(IsValid(CurrentSpan()));
    EXPECT_EQ(ReadThreadLabels(labels, sizeof(labels)), 3U);
    const SpanScope span(Span(1));
    EXPECT_EQ(ReadThreadLabels(labels, sizeof(labels)), 3U);
  }
  EXPECT_EQ(ReadThreadLabels(labels, sizeof(labels)), 0U);
  EXPECT_EQ(Record()[24], 0);
}

TEST(Context, ALabelThatDoesNotFitIsLeftOutWhole) {
  const wherefore::LabelKey key("context_test.long");
  const LabelScope fits(key, std::string(kLabelBytes - 2, 'x'));
  const std::string full = Record();
  EXPECT_EQ(full.size(), kRecordBytes);
  {
    const LabelScope more(key, "");
    EXPECT_EQ(Record(), full);
  }
  EXPECT_EQ(Record(), full);
  EXPECT_EQ(wherefore_label_enter(-1, "x", 1), -1);
}

TEST(Context, NamesKeepTheirNumberAndRunOutAt256) {
  const int first = wherefore_label_key("context_test.first");
  EXPECT_EQ(wherefore_label_key("context_test.first"), first);
  EXPECT_EQ(LabelKeys()[static_cast<std::size_t>(first)], "context_test.first");
  const int latin = wherefore_label_key("context_test.\xe9");
  EXPECT_EQ(wherefore_label_key("context_test.\uFFFD"), latin);
  EXPECT_EQ(LabelKeys()[static_cast<std::size_t>(latin)], "context_test.\uFFFD");
  EXPECT_EQ(wherefore_label_key(""), -1);
  EXPECT_EQ(wherefore_label_key(nullptr), -1);
  EXPECT_EQ(wherefore_label_key(std::string(256, 'x').c_str()), -1);
}

TEST(Context, ASavedContextMovesSpanAndLabelsToAnotherThread) {
  const wherefore::LabelKey key("context_test.moved");
  std::function<std::string()> task;
  std::string here;
  {
    const SpanScope span(Span(7));
    const LabelScope label(key, "yes");
    here = Record();
    task = BindContext([] { return Record(); });
  }
  std::string there;
  std::string after;
  std::thread([&] {
    there = task();
    after = Record();
  }).join();
  EXPECT_EQ(there, here);
  EXPECT_EQ(after, std::string(28, '\0'));
}

TEST(Context, NullIsNoSpanAndNowhereToPutIt) {
  std::thread([] {
    wherefore_saved_span saved{};
    const SpanContext span = Span(5);
    wherefore_span_leave(nullptr);  // before the thread has a record
    wherefore_span_enter(&span, nullptr);
    EXPECT_EQ(wherefore_span_current(nullptr), 1);
    EXPECT_EQ(CurrentSpan().span_id[7], 5);
    wherefore_span_enter(nullptr, &saved);
    EXPECT_EQ(wherefore_span_current(nullptr), 0);
    wherefore_span_leave(nullptr);
    EXPECT_EQ(wherefore_span_current(nullptr), 0);
    wherefore_span_leave(&saved);
    EXPECT_EQ(CurrentSpan().span_id[7], 5);
    wherefore_context_save(nullptr);
    wherefore_context_restore(nullptr);
    EXPECT_EQ(CurrentSpan().span_id[7], 5);
    EXPECT_EQ(wherefore_label_key(nullptr), -1);
    const int label = wherefore_label_enter(0, nullptr, 3);
    EXPECT_GE(label, 0) << "no text is an empty one";
    wherefore_label_leave(label);
  }).join();
}

}  // namespace
}  // namespace wherefore::sdk
