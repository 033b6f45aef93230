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

void Note(const std::string& name, const store::CoverRow& row, Seen& seen) {
  // How long one took is not believed if it is more than a day.
  const std::int64_t end = row.last_ns + profile::BelievedDuration(row.end_ns - row.last_ns);
  ServiceVersion& version =
      seen.try_emplace(name, ServiceVersion{name, row.first_ns, end}).first->second;
  version.first_ns = std::min(version.first_ns, row.first_ns);
  version.last_ns = std::max(version.last_ns, end);
}

struct SeenOfService {
  Seen all;
  std::array<Seen, kLabels.size()> by_label;
};

ServiceVersions VersionsIn(SeenOfService seen) {
  ServiceVersions out;
  out.first_ns = seen.all.begin()->second.first_ns;
  out.last_ns = seen.all.begin()->second.last_ns;
  const auto said = std::ranges::find_if(seen.by_label, [](const Seen& of) { return !of.empty(); });
  if (said == seen.by_label.end()) return out;
  out.label = kLabels[static_cast<std::size_t>(said - seen.by_label.begin())];
  for (auto& [name, version] : *said) out.versions.push_back(std::move(version));
  std::ranges::stable_sort(out.versions, {}, &ServiceVersion::first_ns);
  return out;
}

Result<std::map<std::string, ServiceVersions>> VersionsOfEach(QueryContext& context,
                                                              const Selection& selection,
                                                              const CancelToken& cancel) {
  std::map<std::string, ServiceVersions> out;
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved resolved,
                             context.catalog.Resolve(selection, {.with_series = true}, cancel));
  if (resolved.query.selections.empty()) return out;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      context.reader.Coverage(resolved.query, store::Reader::CoverBy::kSeries, cancel));
  std::map<std::string, SeenOfService> seen;
  for (const store::CoverRow& row : rows) {
    const std::string& service = resolved.services[row.dictionary];
    SeenOfService& of = seen[service];
    Note("", row, of.all);
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      const std::string name(GroupLabel(service, resolved.series[row.dictionary], row.series,
                                        std::string(kLabels[i])));
      if (!name.empty()) Note(name, row, of.by_label[i]);
    }
  }
  for (auto& [service, of] : seen) out.emplace(service, VersionsIn(std::move(of)));
  return out;
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
  // The newest of those that ran when it came: a forgotten instance of an older one may outlive
  // it. Else the one that ran last.
  const ServiceVersion* newest = nullptr;
  const ServiceVersion* last = nullptr;
  for (const ServiceVersion& other : versions) {
    if (other.first_ns >= version.first_ns) continue;
    if (other.last_ns + kStillRuns >= version.first_ns) newest = &other;  // by when they came
    if (!last || other.last_ns >= last->last_ns) last = &other;
  }
  return newest != nullptr ? newest : last;
}

Result<std::map<std::string, ServiceVersions>> AllVersions(QueryContext& context,
                                                           std::uint32_t tenant,
                                                           store::TimeRange range,
                                                           const CancelToken& cancel) {
  return VersionsOfEach(context, {.tenant = tenant, .type = "cpu", .range = range}, cancel);
}

Result<ServiceVersions> VersionsOf(QueryContext& context, std::uint32_t tenant,
                                   const std::string& service, store::TimeRange range,
                                   const CancelToken& cancel) {
  const Selection selection{
      .tenant = tenant, .selector = Selector::OfService(service), .type = "cpu", .range = range};
  WHEREFORE_ASSIGN_OR_RETURN(auto each, VersionsOfEach(context, selection, cancel));
  const auto found = each.find(service);
  return found == each.end() ? ServiceVersions() : std::move(found->second);
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
