#include "query/looks.h"

#include <algorithm>
#include <cmath>

#include "profile/observed_time.h"
#include "profile/share_error.h"

namespace wherefore::query {

void Looks::Add(const Looks& more) {
  value += more.value;
  looks += more.looks;
  error_ns =
      std::llround(std::hypot(static_cast<double>(error_ns), static_cast<double>(more.error_ns)));
}

Looks ShowLooks(std::int64_t value, std::int64_t looks, std::optional<std::int64_t> own_ns) {
  const std::int64_t n = std::max<std::int64_t>(looks, 1);
  const double worth = static_cast<double>(value) / static_cast<double>(n);
  constexpr double kMost = 9.2e18;
  const std::int64_t error = std::llround(std::min(worth * profile::CountError(n), kMost));
  const std::int64_t most = own_ns.value_or(INT64_MAX);
  return {.value = std::min(value, most), .looks = looks, .error_ns = std::min(error, most)};
}

std::map<SpanKey, std::int64_t> OwnTimes(const std::vector<store::SpanTime>& spans) {
  std::map<SpanKey, std::vector<const store::SpanTime*>> children;
  for (const store::SpanTime& s : spans) {
    if (s.parent != profile::SpanId{}) children[{s.trace, s.parent}].push_back(&s);
  }
  std::map<SpanKey, std::int64_t> own;
  for (const store::SpanTime& s : spans) {
    const std::int64_t end = s.start_ns + s.duration_ns;
    profile::ObservedTime covered;
    if (const auto found = children.find({s.trace, s.id}); found != children.end()) {
      for (const store::SpanTime* child : found->second) {
        const std::int64_t from = std::max(child->start_ns, s.start_ns);
        covered.Add(from, std::min(child->start_ns + child->duration_ns, end) - from);
      }
    }
    std::int64_t left = s.duration_ns - covered.total_ns();
    if (s.names_holder || left < s.duration_ns / 100) left = s.duration_ns;
    own[{s.trace, s.id}] = left;
  }
  return own;
}

}  // namespace wherefore::query
