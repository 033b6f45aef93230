#include "wherefore/opentelemetry.h"

#include <gtest/gtest.h>

namespace wherefore {
namespace {

namespace otel = opentelemetry;
using otel::context::Context;
using otel::context::RuntimeContext;

class FixedSpan : public otel::trace::Span {
 public:
  explicit FixedSpan(std::uint8_t number) : number_(number) {}
  [[nodiscard]] otel::trace::SpanContext GetContext() const noexcept override {
    return {otel::trace::TraceId({number_}), otel::trace::SpanId({number_}),
            otel::trace::TraceFlags(1)};
  }

 private:
  std::uint8_t number_;
};

Context WithSpan(std::uint8_t number) {
  return Context().SetValue(otel::trace::kSpanKey,
                            std::shared_ptr<otel::trace::Span>(new FixedSpan(number)));
}

TEST(OpenTelemetryAdapter, PublishesWhateverSpanIsActive) {
  PublishOpenTelemetrySpans();
  {
    const auto outer = RuntimeContext::Attach(WithSpan(1));
    EXPECT_EQ(CurrentSpan().span_id[0], 1);
    EXPECT_EQ(CurrentSpan().flags, 1);
    {
      const auto inner = RuntimeContext::Attach(WithSpan(2));
      EXPECT_EQ(CurrentSpan().trace_id[0], 2);
      const auto none = RuntimeContext::Attach(Context().SetValue("other", true));
      EXPECT_FALSE(IsValid(CurrentSpan()));
    }
    EXPECT_EQ(CurrentSpan().span_id[0], 1);
  }
  EXPECT_FALSE(IsValid(CurrentSpan()));
}

TEST(OpenTelemetryAdapter, DetachingOutOfOrderPublishesWhatIsCurrentThen) {
  PublishOpenTelemetrySpans();
  const auto first = RuntimeContext::Attach(WithSpan(1));
  auto second = RuntimeContext::Attach(WithSpan(2));
  auto third = RuntimeContext::Attach(WithSpan(3));
  second.reset();  // takes the third with it
  EXPECT_EQ(CurrentSpan().span_id[0], 1);
  third.reset();
}

}  // namespace
}  // namespace wherefore
