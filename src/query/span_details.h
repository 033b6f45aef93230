// SpanDetails: what a stored span carries beside its columns, ready to be shown. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"
#include "store/read.h"

namespace wherefore::query {

using Pairs = std::vector<std::pair<std::string, std::string>>;  // attribute, value as text

struct SpanDetails {
  struct Attribute {
    std::string key;
    std::string text;
    profile::Value::Kind kind = profile::Value::Kind::kString;
  };
  struct Event {
    std::int64_t time_ns = 0;
    std::string name;
    Pairs attributes;
  };
  struct Link {
    profile::TraceId trace{};
    profile::SpanId span{};
    Pairs attributes;
  };
  std::string scope_name;
  std::string scope_version;
  std::string trace_state;
  std::uint64_t flags = 0;
  std::vector<Attribute> attributes;
  std::vector<Attribute> resource;
  std::vector<Event> events;
  std::vector<Link> links;
};

[[nodiscard]] Result<SpanDetails> DescribeSpan(const store::SpanRow& span);

}  // namespace wherefore::query
