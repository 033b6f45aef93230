// Links sent as labels: profilers without a field for span ids write them as labels of the sample.
// Pure; any thread.
#pragma once

#include <string_view>

#include "profile/batch.h"

namespace wherefore::formats {

// Recognises the labels and attributes that tie a sample to a span, in all spellings: span_id,
// profile_id (16 hex digits), trace_id, otel.traceid (32), otel.spanid, and Datadog's decimal "span
// id", "local root span id" and "trace id". Returns true if `key` is one of them and `text` a valid
// value, and stores it in `link`. If two name a span, the inner one wins.
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

// Whether a label of this name ties a sample to a span, whatever its value is.
[[nodiscard]] bool IsLinkLabel(std::string_view key);

// Adds links to samples that have such attributes and no link yet. The attributes stay.
void LinkSamplesByAttributes(profile::Batch& batch);

}  // namespace wherefore::formats
