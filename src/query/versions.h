// The versions of a service: which ran when, as its profiles say. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/observed_time.h"
#include "query/context.h"

namespace wherefore::query {

struct ServiceVersion {
  std::string name;
  std::int64_t first_ns = 0;  // start of its first profile
  std::int64_t last_ns = 0;   // end of its last one
};

struct ServiceVersions {
  std::string
      label;  // that tells them apart: service.version, version, commit, …; empty: none does
  std::vector<ServiceVersion> versions;  // by when they came
  std::int64_t first_ns = 0;             // of any profile; both 0: there is none
  std::int64_t last_ns = 0;

  // What runs now, and what ran before it; null: nothing did, or nothing that came earlier.
  [[nodiscard]] const ServiceVersion* Current() const;
  [[nodiscard]] const ServiceVersion* Before(const ServiceVersion& version) const;
};

// Of every service with CPU profiles in the range, by name; one read, however many they are.
Result<std::map<std::string, ServiceVersions>> AllVersions(QueryContext& context,
                                                           std::uint32_t tenant,
                                                           store::TimeRange range,
                                                           const CancelToken& cancel);
// By the CPU profiles of the range.
Result<ServiceVersions> VersionsOf(QueryContext& context, std::uint32_t tenant,
                                   const std::string& service, store::TimeRange range,
                                   const CancelToken& cancel);
// Everything of one of them; of the service if there are none.
Result<Selector> SelectorOf(const std::string& service, const std::string& label,
                            const std::string& version);

}  // namespace wherefore::query
