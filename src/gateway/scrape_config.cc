#include "gateway/scrape_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/url.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

constexpr std::int64_t kDefaultInterval = 15 * kNsPerSecond;
constexpr std::int64_t kDefaultTimeout = 10 * kNsPerSecond;

// Prometheus' durations: 15s, 1m30s, 1d.
template <typename Member>
auto Interval(Member member) {
  return Scalar(member, [](const Node& node) -> Result<std::int64_t> {
    const auto ns = ParseDuration(node.text);
    if (ns && *ns >= kNsPerSecond / 10) return *ns;
    return Error(Code::kInvalid, "expected a duration of at least 100ms, such as 15s");
  });
}

const Fields<TargetGroup>& GroupFields() {
  static const Fields<TargetGroup> kFields = {{"targets", Texts(&TargetGroup::targets)},
                                              {"labels", TextMap(&TargetGroup::labels)}};
  return kFields;
}

const Fields<RelabelRule::Spec>& RuleFields() {
  using Spec = RelabelRule::Spec;
  static const Fields<Spec> kFields = {
      {"source_labels", Texts(&Spec::source_labels)},
      {"separator", Text(&Spec::separator)},
      {"target_label", Text(&Spec::target_label)},
      {"regex", Text(&Spec::regex)},
      {"modulus", Whole(&Spec::modulus, 1, std::numeric_limits<std::int64_t>::max())},
      {"replacement", Text(&Spec::replacement)},
      {"action", Text(&Spec::action)}};
  return kFields;
}

void ReadRules(const Entry& entry, ScrapeJob& job, Problems& problems) {
  if (!ExpectList(entry.value, entry.key, problems)) return;
  for (const Node& item : entry.value.items) {
    if (!ExpectMap(item, entry.key, problems)) continue;
    RelabelRule::Spec spec;
    ReadMap(item, RuleFields(), spec, problems);
    auto rule = RelabelRule::Make(std::move(spec));
    if (rule) {
      job.relabel.push_back(*std::move(rule));
    } else {
      problems.Fail(item.place, rule.error().message());
    }
  }
}

// profiling_config.pprof_config: enables, disables, moves or adds kinds by name.
void ReadKinds(const Entry& entry, ScrapeJob& job, Problems& problems) {
  static const Fields<ScrapeKind> kFields = {{"enabled", Flag(&ScrapeKind::enabled)},
                                             {"path", Text(&ScrapeKind::path)},
                                             {"delta", Flag(&ScrapeKind::timed)}};
  if (!ExpectMap(entry.value, entry.key, problems)) return;
  for (const Entry& one : entry.value.entries) {
    auto kind = std::ranges::find(job.kinds, one.key, &ScrapeKind::name);
    if (kind == job.kinds.end()) {
      job.kinds.push_back({.name = one.key});
      kind = std::prev(job.kinds.end());
    }
    kind->enabled = true;
    if (!ExpectMap(one.value, one.key, problems)) continue;
    ReadMap(one.value, kFields, *kind, problems);
    if (kind->path.empty()) problems.Fail(one.place, "a custom kind needs a path");
  }
}

struct FileList {
  std::vector<std::string> files;
};

// Paths are relative to the configuration's.
void ReadFileLists(const Entry& entry, ScrapeJob& job, Problems& problems) {
  static const Fields<FileList> kFields = {
      {"files", Texts(&FileList::files)},
      {"refresh_interval", [](const Entry&, FileList&, Problems&) {}}};  // watched all the time
  const std::filesystem::path folder = std::filesystem::path(*entry.place.file).parent_path();
  if (!ExpectList(entry.value, entry.key, problems)) return;
  for (const Node& item : entry.value.items) {
    FileList list;
    if (ExpectMap(item, entry.key, problems)) ReadMap(item, kFields, list, problems);
    for (const std::string& file : list.files) job.files.push_back((folder / file).string());
  }
}

const Fields<ScrapeJob>& JobFields() {
  static const Fields<ScrapeJob> kProfiling = {{"path_prefix", Text(&ScrapeJob::path_prefix)},
                                               {"pprof_config", ReadKinds}};
  static const Fields<ScrapeJob> kFields = {
      {"job_name", Text(&ScrapeJob::name)},
      {"scheme", OneOf(&ScrapeJob::scheme, {"http", "https"})},
      {"scrape_interval", Interval(&ScrapeJob::interval_ns)},
      {"scrape_timeout", Interval(&ScrapeJob::timeout_ns)},
      {"bearer_token", Text(&ScrapeJob::bearer_token)},
      {"static_configs", Maps(&ScrapeJob::groups, GroupFields())},
      {"file_sd_configs", ReadFileLists},
      {"relabel_configs", ReadRules},
      {"profiling_config", Nested([](ScrapeJob& job) -> ScrapeJob& { return job; }, kProfiling)}};
  return kFields;
}

// The parts of the file before jobs know their defaults.
struct WrittenConfig {
  ScrapeJob global{.interval_ns = kDefaultInterval, .timeout_ns = kDefaultTimeout};
  const Entry* jobs = nullptr;
};

std::vector<ScrapeJob> ReadJobs(const Entry& entry, const ScrapeJob& global, Problems& problems) {
  std::vector<ScrapeJob> jobs;
  std::set<std::string> names;
  if (!ExpectList(entry.value, entry.key, problems)) return jobs;
  for (const Node& item : entry.value.items) {
    if (!ExpectMap(item, entry.key, problems)) continue;
    ScrapeJob job = global;
    ReadMap(item, JobFields(), job, problems);
    if (job.name.empty()) problems.Fail(item.place, "job_name is missing");
    if (!names.insert(job.name).second) {
      problems.Fail(item.place, fmt::format("job_name \"{}\" is there twice", job.name));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

ScrapeConfig ReadConfig(const Node& root, Problems& problems) {
  static const Fields<ScrapeJob> kGlobal = {{"scrape_interval", Interval(&ScrapeJob::interval_ns)},
                                            {"scrape_timeout", Interval(&ScrapeJob::timeout_ns)}};
  static const Fields<WrittenConfig> kFields = {
      {"global", Nested(&WrittenConfig::global, kGlobal)},
      {"scrape_configs",
       [](const Entry& entry, WrittenConfig& out, Problems& /*problems*/) { out.jobs = &entry; }}};
  WrittenConfig written;
  if (ExpectMap(root, "the file", problems)) ReadMap(root, kFields, written, problems);
  if (written.jobs == nullptr) return {};
  return {ReadJobs(*written.jobs, written.global, problems)};
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(Code::kIo, fmt::format("{}: cannot be read", path));
  return std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs `read` on the parsed text; the first problem becomes the error.
template <typename Read>
auto Parse(const std::string& text, const std::string& name, Read read)
    -> Result<decltype(read(Node(), std::declval<Problems&>()))> {
  Problems problems;
  const auto root = ParseYaml(text, name, problems);
  if (!root) return problems.error();
  auto value = read(*root, problems);
  if (problems.failed()) return problems.error();
  return value;
}

}  // namespace

std::vector<ScrapeKind> DefaultKinds() {
  return {{"process_cpu", "/debug/pprof/profile", true, true},
          {"memory", "/debug/pprof/allocs", false, true},
          {"goroutine", "/debug/pprof/goroutine", false, true},
          {"mutex", "/debug/pprof/mutex", false, true},
          {"block", "/debug/pprof/block", false, true},
          // Has the same content as "memory"; threads rarely matter.
          {"heap", "/debug/pprof/heap", false, false},
          {"threadcreate", "/debug/pprof/threadcreate", false, false}};
}

std::vector<ScrapeJob> ReadScrapeJobs(const Entry& entry, Problems& problems) {
  return ReadJobs(entry, WrittenConfig().global, problems);
}

Result<ScrapeConfig> ParseScrapeConfig(const std::string& text, const std::string& name) {
  return Parse(text, name, ReadConfig);
}

Result<ScrapeConfig> ReadScrapeConfig(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseScrapeConfig(text, path);
}

Result<ScrapeJob> ParseScrapeTarget(std::string_view text) {
  ScrapeJob job;
  job.interval_ns = kDefaultInterval;
  job.timeout_ns = kDefaultTimeout;
  const std::size_t scheme = text.find("://");
  const std::size_t equals = text.find('=');
  TargetGroup group;
  if (equals < scheme) {
    group.labels["service_name"] = std::string(text.substr(0, equals));
    text.remove_prefix(equals + 1);
  }
  const auto url = net::ParseUrl(text);
  if (!url) {
    return Error(Code::kInvalid, "--scrape: " + url.error().message());
  }
  job.scheme = url->tls ? "https" : "http";
  job.name = group.labels.contains("service_name") ? group.labels["service_name"] : url->authority;
  job.path_prefix = url->target == "/" ? "" : url->target;
  group.targets.push_back(url->authority);
  job.groups.push_back(std::move(group));
  return job;
}

Result<std::vector<TargetGroup>> ReadTargetFile(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return Parse(text, path, [](const Node& root, Problems& problems) {
    ScrapeJob job;
    Maps(&ScrapeJob::groups, GroupFields())({"targets", root.place, root}, job, problems);
    return std::move(job.groups);
  });
}

std::vector<std::string> ExpandPattern(const std::string& pattern) {
  const std::filesystem::path path(pattern);
  const std::string last = path.filename().string();
  if (last.find_first_of("*?[") == std::string::npos) return {pattern};
  std::vector<std::string> files;
  std::error_code error;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (fnmatch(last.c_str(), entry.path().filename().c_str(), FNM_PERIOD) == 0) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<ScrapeTarget> TargetsOf(const ScrapeJob& job,
                                    const std::vector<TargetGroup>& from_files) {
  std::vector<ScrapeTarget> out;
  const auto add = [&](const TargetGroup& group) {
    for (const std::string& address : group.targets) {
      LabelMap labels = group.labels;
      labels.try_emplace("job", job.name);
      labels["__address__"] = address;
      labels["__scheme__"] = job.scheme;
      labels["__profile_path_prefix__"] = job.path_prefix;
      if (!Relabel(job.relabel, labels) || labels["__address__"].empty()) continue;
      labels.try_emplace("instance", labels["__address__"]);
      labels.try_emplace("service_name", labels["job"]);
      ScrapeTarget target{.url =
                              fmt::format("{}://{}{}", labels["__scheme__"], labels["__address__"],
                                          labels["__profile_path_prefix__"])};
      for (auto& [name, value] : labels) {
        if (!name.starts_with("__") && !value.empty()) target.labels[name] = value;
      }
      if (std::ranges::find(out, target) == out.end()) out.push_back(std::move(target));
    }
  };
  for (const TargetGroup& group : job.groups) add(group);
  for (const TargetGroup& group : from_files) add(group);
  return out;
}

}  // namespace wherefore::gateway
