// What to scrape: a YAML file similar to Prometheus' (docs/scraping.md), and target files in its
// file_sd format. Only reads files; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/relabel.h"
#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::gateway {

// One kind of profile a target serves.
struct ScrapeKind {
  std::string name;    // "process_cpu", "memory", ...: the name in the configuration
  std::string path;    // "/debug/pprof/profile"
  bool timed = false;  // asks for "?seconds="
  bool enabled = true;
};
// The kinds of Go's net/http/pprof.
[[nodiscard]] std::vector<ScrapeKind> DefaultKinds();

struct TargetGroup {
  std::vector<std::string> targets;  // host:port
  LabelMap labels;
};

struct ScrapeJob {
  std::string name;
  std::string scheme = "http";
  std::string path_prefix;
  std::int64_t interval_ns = 0;
  std::int64_t timeout_ns = 0;
  std::string bearer_token;
  std::vector<ScrapeKind> kinds = DefaultKinds();
  std::vector<TargetGroup> groups;
  std::vector<std::string> files;  // file_sd; * and ? are allowed in the last part
  std::vector<RelabelRule> relabel;
};

struct ScrapeConfig {
  std::vector<ScrapeJob> jobs;
};

// The error names file, line and key.
[[nodiscard]] Result<ScrapeConfig> ReadScrapeConfig(const std::string& path);
[[nodiscard]] Result<ScrapeConfig> ParseScrapeConfig(const std::string& text,
                                                     const std::string& name);
// The list of jobs by itself, as in a pprof receiver.
[[nodiscard]] std::vector<ScrapeJob> ReadScrapeJobs(const settings::Entry& entry,
                                                    settings::Problems& problems);
// "http://host:6060" or "service=http://host:6060", as a job of its own.
[[nodiscard]] Result<ScrapeJob> ParseScrapeTarget(std::string_view text);

// JSON or YAML.
[[nodiscard]] Result<std::vector<TargetGroup>> ReadTargetFile(const std::string& path);
// The files that match a pattern, sorted.
[[nodiscard]] std::vector<std::string> ExpandPattern(const std::string& pattern);

// A target as it is scraped, after relabelling.
struct ScrapeTarget {
  std::string url;  // scheme://address/prefix
  LabelMap labels;  // labels of its profiles, including service_name
  bool operator==(const ScrapeTarget&) const = default;
};
// All targets of the job, from its own groups and `groups`, except those that rules drop.
[[nodiscard]] std::vector<ScrapeTarget> TargetsOf(const ScrapeJob& job,
                                                  const std::vector<TargetGroup>& from_files);

}  // namespace wherefore::gateway
