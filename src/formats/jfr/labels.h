// The `labels` part that the Java agent sends with a recording: the labels behind an event's
// context number, and the strings behind span name numbers.
//
//   LabelsSnapshot { map<int64, Context> contexts = 1; map<int64, string> strings = 2 }
//   Context { map<int64, int64> labels = 1 }   key and value are numbers of strings
//
// Views point into the bytes given to Read. One thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wherefore::formats {

class JfrLabels {
 public:
  // Uncompressed protobuf.
  Result<> Read(std::string_view bytes);

  // The labels of a context ordered by number; false if there is no such context.
  bool Context(std::int64_t id, std::vector<std::pair<std::int64_t, std::int64_t>>& out) const;
  // Null if there is no such string.
  [[nodiscard]] const std::string_view* String(std::int64_t id) const { return Find(strings_, id); }

 private:
  using Table = std::vector<std::pair<std::int64_t, std::string_view>>;
  static const std::string_view* Find(const Table& table, std::int64_t id);

  Table contexts_;  // encoded Context messages
  Table strings_;
};

}  // namespace wherefore::formats
