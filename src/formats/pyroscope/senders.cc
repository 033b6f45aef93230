#include "formats/pyroscope/senders.h"

#include <algorithm>

#include "formats/link_labels.h"
#include "profile/counters.h"

namespace wherefore::formats {
namespace {

bool IsServiceKey(std::string_view key) {
  return key == "service_name" || key == "service.name";
}

// Null if there is no such label.
const std::string* FindLabel(const TextLabels& labels, std::string_view name) {
  const auto it = std::ranges::find(labels, name, &TextLabels::value_type::first);
  return it == labels.end() ? nullptr : &it->second;
}

}  // namespace

SenderHabits HabitsOf(std::string_view spy, const SampleTypeConfigs& configs) {
  const bool declared =
      std::ranges::any_of(configs, [](const auto& c) { return c.second.cumulative.has_value(); });
  return {.file_in_names = spy == "pyspy" || spy == "rbspy" || spy == "scripting",
          .dash_to_underscore =
              spy == "dotnetspy" || (spy == "unknown" && configs.contains("inuse-space")),
          // Go's SDK takes differences since it stopped sending the previous profile.
          .sends_differences = spy == "gospy" || declared};
}

StoredLabels LabelsOfUpload(const AppName& app, std::string_view spy) {
  StoredLabels out{.service = app.service};
  LinkReader link;
  for (const auto& [key, value] : app.labels) {
    if (IsServiceKey(key)) {
      // The user's own label wins; the application's name is kept beside it.
      if (value.empty()) continue;
      out.service = value;
      out.labels.emplace_back("app_name", app.service);
    } else if (!link.Read(key, value)) {
      out.labels.emplace_back(key, value);
    }
  }
  out.link = link.link();
  constexpr std::string_view kSpy = "pyroscope_spy";
  if (FindLabel(out.labels, kSpy) == nullptr) out.labels.emplace_back(kSpy, spy);
  return out;
}

SeriesFacts FactsOfSeries(const TextLabels& labels) {
  SeriesFacts out;
  LinkReader link;
  for (const auto& [key, value] : labels) {
    if (IsServiceKey(key)) {
      if (!value.empty()) out.stored.service = value;
    } else if (key == "__name__") {
      out.name = value;
    } else if (key == "__delta__") {
      out.sends_differences = value == "false";
    } else if (!key.starts_with("__") && !link.Read(key, value)) {
      out.stored.labels.emplace_back(key, value);
    }
  }
  if (out.stored.service.empty()) out.stored.service = "unknown_service";
  out.stored.link = link.link();
  // Scraped through godeltaprof: already differences, under another name.
  constexpr std::string_view kDelta = "godeltaprof_";
  if (out.name.starts_with(kDelta)) {
    out.name.erase(0, kDelta.size());
    out.sends_differences = true;
  }
  return out;
}

bool IsCumulative(const profile::Batch& batch, const TextLabels& labels) {
  // Senders that name their scope take differences themselves (Alloy's scraper does not).
  const std::string* const scope = FindLabel(labels, "otel.scope.name");
  if (scope != nullptr && scope->find("pyroscope/") != std::string::npos &&
      !scope->ends_with(".scrape")) {
    return false;
  }
  return std::ranges::any_of(batch.profiles, [&](const profile::Profile& p) {
    const std::string_view period = batch.Text(p.period_type.type);
    return p.duration_ns == 0 && profile::CanBeCumulative(batch.Text(p.sample_type.type)) &&
           (period == "space" || period == "contentions");
  });
}

}  // namespace wherefore::formats
