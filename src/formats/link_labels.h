// Links that come as labels: profilers that have no field for a span's id write it beside the
// sample. Pure; any thread.
#pragma once

#include <string_view>

#include "profile/batch.h"

namespace wherefore::formats {

// The labels and attributes by which profilers say to which span a sample belongs, all spellings:
// span_id, profile_id (16 hex digits), trace_id, otel.traceid (32), otel.spanid, Datadog's decimal
// "span id", "local root span id" and "trace id". True when `key` is one and `text` a proper value;
// then it is in `link`. Of two that name the span, the narrower one counts.
class LinkReader {
 public:
  [[nodiscard]] bool Read(std::string_view key, std::string_view text);
  [[nodiscard]] bool found() const { return trace_ || rank_ > 0; }
  [[nodiscard]] const profile::Link& link() const { return link_; }

 private:
  profile::Link link_;
  bool trace_ = false;
  int rank_ = 0;
};

// Samples without a link that have such an attribute get one. The attributes stay as they are.
void LinkSamplesByAttributes(profile::Batch& batch);

}  // namespace wherefore::formats
