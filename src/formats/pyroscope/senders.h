// What Pyroscope's clients do without saying so in their uploads: which ones write names in their
// own way, send cumulative profiles, or put things into labels that are not labels. See
// docs/api.md. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "formats/formats.h"
#include "formats/pyroscope/upload.h"

namespace wherefore::formats {

// The habits of a profiler, from its name (spyName) and what it declares about its sample types.
struct SenderHabits {
  bool file_in_names = false;       // "file.py function"
  bool dash_to_underscore = false;  // sample types of .NET: "inuse-space"
  bool sends_differences = false;   // never cumulative
};
[[nodiscard]] SenderHabits HabitsOf(std::string_view spy, const SampleTypeConfigs& configs);

// The labels to store a profile under, and what was found among them: a span id, the service.
struct StoredLabels {
  std::string service;
  TextLabels labels;
  profile::Link link;
};
// For an upload: the application's name, and the profiler's name as a label.
[[nodiscard]] StoredLabels LabelsOfUpload(const AppName& app, std::string_view spy);

// For a pushed series.
struct SeriesFacts {
  StoredLabels stored;
  std::string name;                // first part of the type id
  bool sends_differences = false;  // it says so itself
};
[[nodiscard]] SeriesFacts FactsOfSeries(const TextLabels& labels);

// Whether this is a cumulative pprof file of Go's runtime, unless its labels say that somebody
// already took differences.
[[nodiscard]] bool IsCumulative(const profile::Batch& batch, const TextLabels& labels);

}  // namespace wherefore::formats
