#include "query/versions.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"

namespace wherefore::query {
namespace {

constexpr std::array<std::string_view, 4> kLabels = {"service.version", "version", "commit",
                                                     "vcs.ref.head.revision"};
// Old and new instances run beside each other while a version is rolled out.
constexpr std::int64_t kStillRuns = 120 * kNsPerSecond;

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

using Seen = std::map<std::string, ServiceVersion>;

void Note(const std::string& name, const store::ProfileSum& p, Seen& seen) {
  const std::int64_t end = p.time_ns + profile::BelievedDuration(p.duration_ns);
  ServiceVersion& version =
      seen.try_emplace(name, ServiceVersion{name, p.time_ns, end}).first->second;
  version.first_ns = std::min(version.first_ns, p.time_ns);
  version.last_ns = std::max(version.last_ns, end);
}

}  // namespace

const ServiceVersion* ServiceVersions::Current() const {
  const ServiceVersion* current = nullptr;
  for (const ServiceVersion& version : versions) {
    if (version.last_ns + kStillRuns >= last_ns) current = &version;
  }
  return current;
}

const ServiceVersion* ServiceVersions::Before(const ServiceVersion& version) const {
  const ServiceVersion* before = nullptr;
  for (const ServiceVersion& other : versions) {
    if (other.first_ns < version.first_ns && (!before || other.last_ns >= before->last_ns))
      before = &other;
  }
  return before;
}

Result<ServiceVersions> VersionsOf(QueryContext& context, std::uint32_t tenant,
                                   const std::string& service, store::TimeRange range,
                                   const CancelToken& cancel) {
  const Selection selection{
      .tenant = tenant, .selector = Selector::OfService(service), .type = "cpu", .range = range};
  ServiceVersions out;
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved resolved,
                             context.catalog.Resolve(selection, {.with_series = true}, cancel));
  if (resolved.query.selections.empty()) return out;
  WHEREFORE_ASSIGN_OR_RETURN(const auto profiles,
                             context.reader.ProfileTotals(resolved.query, cancel));
  std::array<Seen, kLabels.size()> seen;
  Seen all;
  for (const store::ProfileSum& p : profiles) {
    Note("", p, all);
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      const std::string name(
          GroupLabel(service, resolved.series[p.dictionary], p.series, std::string(kLabels[i])));
      if (!name.empty()) Note(name, p, seen[i]);
    }
  }
  if (all.empty()) return out;
  out.first_ns = all.begin()->second.first_ns;
  out.last_ns = all.begin()->second.last_ns;
  const auto said = std::ranges::find_if(seen, [](const Seen& of) { return !of.empty(); });
  if (said == seen.end()) return out;
  out.label = kLabels[static_cast<std::size_t>(said - seen.begin())];
  for (auto& [name, version] : *said) out.versions.push_back(std::move(version));
  std::ranges::stable_sort(out.versions, {}, &ServiceVersion::first_ns);
  return out;
}

Result<Selector> SelectorOf(const std::string& service, const std::string& label,
                            const std::string& version) {
  Selector selector = Selector::OfService(service);
  if (label.empty()) return selector;
  WHEREFORE_ASSIGN_OR_RETURN(const Selector only,
                             Selector::Parse(fmt::format("{{{}={}}}", label, Quoted(version))));
  selector.Add(only);
  return selector;
}

}  // namespace wherefore::query
