#include "query/span_details.h"

#include <bit>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/typed_attributes.h"
#include "store/write/span_extras.h"

namespace wherefore::query {
namespace {

using profile::TypedAttribute;
using profile::Value;

std::string AsText(const TypedAttribute& a) {
  switch (a.kind) {
    case Value::Kind::kBool:
      return a.number != 0 ? "true" : "false";
    case Value::Kind::kInt:
      return fmt::format("{}", a.number);
    case Value::Kind::kDouble:
      return fmt::format("{}", std::bit_cast<double>(a.number));
    case Value::Kind::kBytes:
      return ToHex(a.text);
    case Value::Kind::kArray:
    case Value::Kind::kMap:
      return ToBase64(a.text);
    default:
      return std::string(a.text);
  }
}

Result<Pairs> ReadPairs(std::string_view encoded) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto attributes, profile::ReadTyped(encoded));
  Pairs pairs;
  pairs.reserve(attributes.size());
  for (const TypedAttribute& a : attributes) pairs.emplace_back(a.key, AsText(a));
  return pairs;
}

}  // namespace

Result<SpanDetails> DescribeSpan(const store::SpanRow& span) {
  WHEREFORE_ASSIGN_OR_RETURN(const store::SpanExtras extras, store::ReadSpanExtras(span.encoded));
  SpanDetails out{.trace_state = std::string(extras.trace_state), .flags = extras.flags};
  WHEREFORE_ASSIGN_OR_RETURN(const auto own, profile::ReadTyped(extras.attributes));
  for (const TypedAttribute& a : own) {
    const bool resource = a.place == profile::AttributePlace::kResource;
    if (resource || a.place == profile::AttributePlace::kSpan) {
      (resource ? out.resource : out.attributes).push_back({std::string(a.key), AsText(a), a.kind});
    }
    if (a.place == profile::AttributePlace::kScopeName) out.scope_name = a.text;
    if (a.place == profile::AttributePlace::kScopeVersion) out.scope_version = a.text;
  }
  for (const store::SpanExtras::Event& e : extras.events) {
    WHEREFORE_ASSIGN_OR_RETURN(Pairs pairs, ReadPairs(e.attributes));
    out.events.push_back(
        {static_cast<std::int64_t>(e.time_ns), std::string(e.name), std::move(pairs)});
  }
  for (const store::SpanExtras::Link& l : extras.links) {
    WHEREFORE_ASSIGN_OR_RETURN(Pairs pairs, ReadPairs(l.attributes));
    out.links.push_back({l.trace, l.span, std::move(pairs)});
  }
  return out;
}

}  // namespace wherefore::query
