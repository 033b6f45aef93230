// Silences: alerts nobody is told about for a while. As Alertmanager has them.
//
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "insight/alerts/labels.h"
#include "store/alert_event.h"

namespace re2 {
class RE2;
}

namespace wherefore::insight {

struct SilenceMatcher {
  std::string name;
  std::string value;
  bool is_regex = false;
  bool is_equal = true;
  std::shared_ptr<const re2::RE2> regex;  // of the whole value

  [[nodiscard]] bool Matches(const AlertLabels& labels) const;
};

struct Silence {
  std::string id;
  std::uint32_t tenant = 0;
  std::vector<SilenceMatcher> matchers;  // all of them
  std::int64_t starts_ns = 0;
  std::int64_t ends_ns = 0;
  std::string created_by;
  std::string comment;

  [[nodiscard]] bool ActiveAt(std::int64_t now_ns) const {
    return starts_ns <= now_ns && now_ns < ends_ns;
  }
  [[nodiscard]] bool Matches(const AlertLabels& labels) const;
};

// {matchers, startsAt, endsAt, createdBy, comment, id}: what is wrong is said with its place.
// Without startsAt it begins at `now_ns`.
[[nodiscard]] Result<Silence> ReadSilence(std::string_view json, std::int64_t now_ns);
// `a=b`, `a!=b`, `a=~b`, `a!~b`; a word alone is `alertname`.
[[nodiscard]] Result<SilenceMatcher> ReadMatcher(std::string_view text);
void WriteSilence(JsonWriter& json, const Silence& silence, std::int64_t now_ns);

[[nodiscard]] store::AlertEvent EventOf(const Silence& silence, std::int64_t now_ns);
[[nodiscard]] Result<Silence> SilenceOf(const store::AlertEvent& event);
// A new one each time.
[[nodiscard]] std::string MakeSilenceId();

}  // namespace wherefore::insight
