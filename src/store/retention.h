// Retention: how long data is kept, by kind. Plain data; any thread.
//
//   spans    spans and the index of traces
//   links    samples of spans and traces
//   samples  samples with their times and attributes, and original files
//   hours    sums by hour
//
// Profiles and names have no kind: they go when nothing that may refer to them is left.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/engine/schema.h"

namespace wherefore::store {

enum class Kind : std::uint8_t { kSpans, kLinks, kSamples, kHours };
inline constexpr std::array<std::string_view, 4> kKindNames = {"spans", "links", "samples",
                                                               "hours"};

class Retention {
 public:
  Retention() = default;
  // The same for every kind; 0 keeps everything.
  static Retention OfAll(std::int64_t ns);
  // "30d", or some kinds: "spans=3d,links=7d,samples=30d,hours=400d"; kinds that are not named are
  // kept. The error says what is wrong, at which character.
  static Result<Retention> Parse(std::string_view text);

  // 0: for ever.
  [[nodiscard]] std::int64_t Of(Kind kind) const { return ns_[static_cast<std::size_t>(kind)]; }
  // A table is kept as long as the longest kind whose rows are in it or may refer to it.
  [[nodiscard]] std::int64_t Of(Table table) const;
  [[nodiscard]] bool KeepsAll() const { return *this == Retention(); }
  // A bucket goes as a whole, when its last nanosecond is too old.
  [[nodiscard]] bool IsTooOld(Table table, std::uint32_t bucket, std::int64_t now_ns) const;
  // "7 d", "spans 3 d, links 7 d, samples 30 d, hours kept"
  [[nodiscard]] std::string Text() const;

  bool operator==(const Retention&) const = default;

 private:
  std::array<std::int64_t, kKindNames.size()> ns_{};
};

struct RetentionRules {
  Retention usual;
  std::map<std::uint32_t, Retention> of_tenant;  // by number

  [[nodiscard]] const Retention& Of(std::uint32_t tenant) const {
    const auto own = of_tenant.find(tenant);
    return own == of_tenant.end() ? usual : own->second;
  }
  [[nodiscard]] bool KeepsAll() const;
};

// "spans", ...; for tables that belong to several kinds "profiles and names".
[[nodiscard]] std::string_view KindName(Table table);

}  // namespace wherefore::store
