#include "gateway/profiling/control.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"
#include "journal/file.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

constexpr std::size_t kMostWords = 10'000;
constexpr std::size_t kMostCounted = 1'000;

// One line of the file.
struct StoredWord {
  std::string tenant;
  std::string service;
  ProfilingWord word;
  std::int64_t until_s = 0;
};

auto TypeList() {
  return [](const Entry& entry, auto& out, Problems& problems) {
    Texts([](auto& o) -> auto& { return o.word.types.emplace(); })(entry, out, problems);
    for (const std::string& name : out.word.types.value_or(std::vector<std::string>())) {
      if (!IsProfilingType(name)) {
        problems.Fail(entry.value.place, fmt::format("unknown type `{}`", name));
      }
    }
  };
}

const Fields<StoredWord>& StoredFields() {
  static const Fields<StoredWord> kFields = {
      {"tenant", Text(&StoredWord::tenant)},
      {"service", Text(&StoredWord::service)},
      {"enabled", Flag(In(&StoredWord::word, &ProfilingWord::enabled))},
      {"sample_rate", Real(In(&StoredWord::word, &ProfilingWord::sample_rate), 0, 10'000)},
      {"types", TypeList()},
      {"until", Whole(&StoredWord::until_s, 0, INT64_MAX / kNsPerSecond)}};
  return kFields;
}

Result<std::vector<StoredWord>> ReadStored(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  Problems problems;
  const auto root = ParseYaml(text, path, problems);
  std::vector<StoredWord> all;
  const Node* const words = root ? root->Find("words") : nullptr;
  if (words == nullptr && !problems.failed()) return Error(Code::kCorrupt, "it has no `words`");
  if (words != nullptr) {
    for (const Node& node : words->items) {
      ReadMap(node, StoredFields(), all.emplace_back(), problems);
      all.back().word.until_ns = all.back().until_s * kNsPerSecond;
    }
  }
  if (problems.failed()) return problems.error();
  return all;
}

void WriteWord(JsonWriter& out, const std::pair<std::string, std::string>& key,
               const ProfilingWord& word) {
  out.BeginObject();
  out.Field("tenant", key.first).Field("service", key.second).Field("enabled", word.enabled);
  if (word.sample_rate) out.Field("sample_rate", *word.sample_rate);
  if (word.types) {
    out.Key("types").BeginArray();
    for (const std::string& type : *word.types) out.String(type);
    out.EndArray();
  }
  if (word.until_ns != 0) out.Field("until", word.until_ns / kNsPerSecond);
  out.EndObject();
}

}  // namespace

ProfilingControl::ProfilingControl(std::string path)
    : path_(std::move(path)),
      dropped_profiles_(Metrics::Global().GetCounter(
          "wherefore_profiling_off_profiles_total",
          "Profiles that were left out because profiling of their service is off.")),
      dropped_samples_(Metrics::Global().GetCounter(
          "wherefore_profiling_off_samples_total",
          "Samples that were left out because profiling of their service is off.")) {}

void ProfilingControl::Open() {
  if (path_.empty() || ::access(path_.c_str(), F_OK) != 0) return;
  const auto stored = ReadStored(path_);
  if (!stored) {
    (void)std::rename(path_.c_str(), (path_ + ".bad").c_str());
    Log(LogLevel::kError, "what was said about profiling cannot be read; everything is on",
        {{"file", path_ + ".bad"}, {"error", stored.error().message()}});
    return;
  }
  MutexLock lock(mutex_);
  for (const StoredWord& stored_word : *stored) {
    Said& said = words_[{stored_word.tenant, stored_word.service}];
    (stored_word.word.until_ns == 0 ? said.lasting : said.passing) = stored_word.word;
  }
  UpdateSaysOff();
}

void ProfilingControl::SetFile(std::optional<ProfilingSettings> settings) {
  MutexLock lock(mutex_);
  file_ = std::move(settings);
  UpdateSaysOff();
}

void ProfilingControl::UpdateSaysOff() {
  bool off = file_ && !file_->enabled.value_or(true);
  for (const auto& [key, said] : words_) {
    off |= (said.lasting && !said.lasting->enabled) || (said.passing && !said.passing->enabled);
  }
  says_off_.store(off, std::memory_order_relaxed);
}

Result<> ProfilingControl::Set(const std::string& tenant, const std::string& service,
                               ProfilingWord word) {
  MutexLock lock(mutex_);
  All next = words_;
  const std::int64_t now = NowUnixNs();
  for (auto& [key, said] : next) {
    if (said.passing && said.passing->until_ns <= now) said.passing.reset();
  }
  std::erase_if(next,
                [](const auto& entry) { return !entry.second.passing && !entry.second.lasting; });
  Said& said = next[{tenant, service}];
  if (next.size() > kMostWords) {
    return Error(Code::kLimit, fmt::format("profiling of {} services is set already", kMostWords));
  }
  if (word.until_ns != 0) {
    said.passing = std::move(word);
  } else {
    said = {.lasting = std::move(word), .passing = {}};
  }
  WHEREFORE_RETURN_IF_ERROR(Save(next));
  words_ = std::move(next);
  UpdateSaysOff();
  return {};
}

Result<> ProfilingControl::Save(const All& all) const {
  if (path_.empty()) return {};
  std::string text;
  JsonWriter out(text);
  out.BeginObject().Field("version", 1).Key("words").BeginArray();
  for (const auto& [key, said] : all) {
    if (said.lasting) WriteWord(out, key, *said.lasting);
    if (said.passing) WriteWord(out, key, *said.passing);
  }
  out.EndArray().EndObject();
  return journal::ReplaceFile(path_, text + "\n");
}

const ProfilingWord* ProfilingControl::FindOwn(const std::string& tenant,
                                               std::string_view service) const {
  const auto found = words_.find(Key(tenant, service));
  if (found == words_.end()) return nullptr;
  const Said& said = found->second;
  if (said.passing && said.passing->until_ns > NowUnixNs()) return &*said.passing;
  return said.lasting ? &*said.lasting : nullptr;
}

const ProfilingWord* ProfilingControl::Find(const std::string& tenant,
                                            std::string_view service) const {
  if (const ProfilingWord* own = FindOwn(tenant, service)) return own;
  return FindOwn(tenant, {});
}

bool ProfilingControl::IsOn(const std::string& tenant, std::string_view service) const {
  if (!says_off_.load(std::memory_order_relaxed)) return true;
  MutexLock lock(mutex_);
  if (const ProfilingWord* word = Find(tenant, service)) return word->enabled;
  return !file_ || file_->enabled.value_or(true);
}

std::vector<std::pair<std::string, ProfilingWord>> ProfilingControl::Words(
    const std::string& tenant) const {
  std::vector<std::pair<std::string, ProfilingWord>> all;
  MutexLock lock(mutex_);
  for (const auto& [key, said] : words_) {
    if (key.first != tenant) continue;
    if (const ProfilingWord* word = FindOwn(tenant, key.second))
      all.emplace_back(key.second, *word);
  }
  return all;
}

std::string ProfilingControl::Block(const std::string& tenant, std::string_view service) const {
  MutexLock lock(mutex_);
  const ProfilingWord* const word = Find(tenant, service);
  if (word == nullptr && !file_) return {};
  return ProfilingBlock(file_.value_or(ProfilingSettings()), word,
                        pressure_.load(std::memory_order_relaxed));
}

void ProfilingControl::CountDropped(std::string_view service, std::size_t profiles,
                                    std::size_t samples) {
  dropped_profiles_.Add(profiles);
  dropped_samples_.Add(samples);
  MutexLock lock(mutex_);
  const auto known = dropped_.find(service);
  if (known != dropped_.end()) {
    known->second += profiles;
  } else if (dropped_.size() < kMostCounted) {
    dropped_.emplace(service, profiles);
  }
}

Status ProfilingControl::status() const {
  Status status;
  status.part = "profiling";
  MutexLock lock(mutex_);
  std::size_t off = 0;
  for (const auto& [key, said] : words_) {
    const ProfilingWord* const word = FindOwn(key.first, key.second);
    if (word == nullptr) continue;
    off += word->enabled ? 0 : 1;
    if (status.facts.size() >= 20) continue;
    status.facts.emplace_back(key.second.empty() ? "all services" : key.second,
                              word->enabled ? "on" : "off");
  }
  if (file_ && !file_->enabled.value_or(true)) status.facts.emplace_back("configuration", "off");
  if (off > 20) status.facts.emplace_back("services that are off", fmt::format("{}", off));
  for (const auto& [service, profiles] : dropped_) {
    if (status.facts.size() >= 40) break;
    status.facts.emplace_back(service + ": profiles left out while off",
                              FormatCount(static_cast<std::int64_t>(profiles)));
  }
  return status;
}

namespace {

std::string Seconds(std::int64_t ns) {
  return fmt::format("{}ms", ns / 1'000'000);
}

// The rate of CPU profiles that SDKs are asked for; none: what the type's own settings say.
std::optional<double> CpuRate(const ProfilingSettings& file, const ProfilingWord* word,
                              bool pressure) {
  std::optional<double> rate;
  if (const auto cpu = file.by_type.find("cpu"); cpu != file.by_type.end()) rate = cpu->second.rate;
  const bool adaptive = file.adaptive && file.adaptive->enabled;
  if (adaptive && file.adaptive->base_rate) rate = file.adaptive->base_rate;
  if (word != nullptr && word->sample_rate) rate = word->sample_rate;
  constexpr double kUsual = 100;
  if (adaptive && pressure) rate = rate.value_or(kUsual) / 2;
  if (rate && adaptive && file.adaptive->max_rate) rate = std::min(*rate, *file.adaptive->max_rate);
  return rate;
}

void AppendTypes(std::string& out, const ProfilingSettings& file, const ProfilingWord* word,
                 bool pressure) {
  auto types = file.by_type;
  if (const auto rate = CpuRate(file, word, pressure)) {
    auto& cpu = types["cpu"];
    cpu.rate = rate;
    cpu.rate_text = fmt::format("{}", *rate);
  }
  for (const auto& [name, type] : types) {
    out += fmt::format("  {}:\n", name);
    if (type.enabled || !type.rate) {
      out += fmt::format("    enabled: {}\n", type.enabled.value_or(true));
    }
    if (type.rate) out += fmt::format("    sample_rate: {}\n", type.rate_text);
  }
}

void AppendLimits(std::string& out, const ProfilingSettings& file) {
  if (file.conditional) {
    out += "  conditional:\n";
    if (file.conditional->slow_request_ns) {
      out += fmt::format("    slow_request_threshold: {}\n",
                         Seconds(*file.conditional->slow_request_ns));
    }
    if (file.conditional->cpu) {
      out += fmt::format("    cpu_threshold_percent: {:g}\n", *file.conditional->cpu * 100);
    }
    out += fmt::format("    profile_errors: {}\n", file.conditional->errors.value_or(false));
  }
  if (file.max_stack_depth) out += fmt::format("  max_stack_depth: {}\n", *file.max_stack_depth);
  if (file.max_profile_bytes)
    out += fmt::format("  max_profile_size: {}\n", *file.max_profile_bytes);
  if (file.upload_interval_ns) {
    out += fmt::format("  upload_interval: {}\n", Seconds(*file.upload_interval_ns));
  }
  if (file.load_shedding) {
    out += fmt::format("  load_shedding:\n    enabled: {}\n    cpu_threshold: {:g}%\n",
                       file.load_shedding->enabled, file.load_shedding->cpu * 100);
    if (file.load_shedding->memory_bytes) {
      out += fmt::format("    memory_threshold: {}\n", *file.load_shedding->memory_bytes);
    }
  }
  if (file.max_overhead) {
    out += fmt::format("  max_overhead_percent: {:g}\n", *file.max_overhead * 100);
  }
}

}  // namespace

std::string ProfilingBlock(const ProfilingSettings& file, const ProfilingWord* word,
                           bool pressure) {
  const bool enabled = word != nullptr ? word->enabled : file.enabled.value_or(true);
  std::string out = fmt::format("profiling:\n  enabled: {}\n", enabled);
  const auto& types = word != nullptr && word->types ? word->types : file.types;
  if (types) out += fmt::format("  types: [{}]\n", fmt::join(*types, ", "));
  AppendTypes(out, file, word, pressure);
  AppendLimits(out, file);
  return out;
}

Result<ProfilingRequest> ReadProfilingRequest(std::string_view body) {
  ProfilingRequest request;
  if (Trim(body).empty()) return request;
  Problems problems;
  const auto root = ParseYaml(body, "body", problems);
  if (root && !root->is_null() && ExpectMap(*root, "body", problems)) {
    const Fields<ProfilingRequest> fields = {
        {"sample_rate", Real(In(&ProfilingRequest::word, &ProfilingWord::sample_rate), 1, 10'000)},
        {"types", TypeList()},
        {"for", Duration(&ProfilingRequest::for_ns)}};
    ReadMap(*root, fields, request, problems);
  }
  if (problems.failed()) return Error(Code::kInvalid, problems.error().message());
  return request;
}

}  // namespace wherefore::gateway
