#include "gateway/scraper.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "net/http_client.h"

namespace wherefore::gateway {
namespace {

constexpr std::size_t kMaxBytes = 64u << 20;
constexpr const char* kUp = "wherefore_scrape_up";

std::string KeyOf(const ScrapeJob& job, const ScrapeTarget& target) {
  std::string key = job.name + "\n" + target.url;
  for (const auto& [name, value] : target.labels) key += fmt::format("\n{}={}", name, value);
  return key;
}

// The profile's name; empty: as for any pprof file.
std::string NameOf(const ScrapeKind& kind) {
  if (kind.name == "memory" || kind.name == "heap") return "memory";
  if (kind.name == "mutex" || kind.name == "block" || kind.name == "threadcreate") return kind.name;
  return "";
}

}  // namespace

Result<formats::DecodedProfiles> FetchProfile(const std::string& url,
                                              const formats::PprofContext& context,
                                              std::int64_t timeout_ns,
                                              const std::string& bearer_token,
                                              const CancelToken& cancel) {
  net::ClientOptions options;
  options.timeout_seconds = static_cast<int>((timeout_ns + kNsPerSecond - 1) / kNsPerSecond);
  options.max_response_bytes = kMaxBytes;
  options.cancel = cancel;
  if (!bearer_token.empty()) options.headers["Authorization"] = "Bearer " + bearer_token;
  WHEREFORE_ASSIGN_OR_RETURN(net::ClientResponse response, net::Fetch("GET", url, {}, {}, options));
  if (response.status != 200) {
    return Error(Code::kIo, fmt::format("{} answered {}: {}", url, response.status,
                                        response.body.substr(0, 200)));
  }
  return formats::DecodePprof(std::make_shared<const std::string>(std::move(response.body)),
                              context);
}

// One target: its thread, schedule and health.
class Scraper::Target {
 public:
  Target(const Intake& intake, const ScrapeJob& job, ScrapeTarget target)
      : intake_(intake),
        job_(job),
        target_(std::move(target)),
        labels_({{"job", job.name}, {"instance", target_.labels["instance"]}}),
        up_(Metrics::Global().GetGauge(kUp, "1 if the last scrape succeeded.", labels_)),
        thread_([this] { Run(); }) {}
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    RequestStop();
    thread_.join();
    Metrics::Global().RemoveGauge(kUp, labels_);
  }
  // Starts stopping; the destructor waits.
  void RequestStop() {
    cancel_.Cancel();
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }

  struct Health {
    std::string url;
    std::string service;
    std::uint64_t profiles = 0;
    std::int64_t last_ns = 0;
    std::map<std::string, std::string> errors;  // by kind
  };
  [[nodiscard]] Health health() const {
    MutexLock lock(mutex_);
    return health_;
  }

 private:
  // False: stopped.
  bool Sleep(std::int64_t ns) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
    MutexLock lock(mutex_);
    while (!cancel_.cancelled()) {
      if (!changed_.WaitUntil(mutex_, until)) break;
    }
    return !cancel_.cancelled();
  }

  void Run() {
    {
      MutexLock lock(mutex_);
      health_.url = target_.url;
      health_.service = target_.labels["service_name"];
    }
    std::mt19937_64 random(std::random_device{}());
    // Soon, because somebody may be watching the first scrape.
    const std::int64_t spread =
        std::min(job_.interval_ns, std::max(job_.interval_ns / 15, kNsPerSecond));
    if (!Sleep(std::uniform_int_distribution<std::int64_t>(0, spread)(random))) return;
    while (!cancel_.cancelled()) {
      const std::int64_t begin = MonotonicNs();
      bool well = true;
      // Quick kinds first: the CPU profile takes the rest of the interval.
      for (const bool timed : {false, true}) {
        for (const ScrapeKind& kind : job_.kinds) {
          if (!kind.enabled || kind.timed != timed || cancel_.cancelled()) continue;
          well = Scrape(kind, begin) && well;
        }
      }
      up_.Set(well ? 1 : 0);
      if (!Sleep(std::max<std::int64_t>(begin + job_.interval_ns - MonotonicNs(), 0))) return;
    }
  }

  bool Scrape(const ScrapeKind& kind, std::int64_t begin) {
    std::string url = target_.url + kind.path;
    std::int64_t timeout = job_.timeout_ns;
    if (kind.timed) {
      const std::int64_t left = begin + job_.interval_ns - MonotonicNs();
      const std::int64_t seconds = std::max<std::int64_t>(left / kNsPerSecond - 1, 1);
      url +=
          fmt::format("{}seconds={}", kind.path.find('?') == kind.path.npos ? "?" : "&", seconds);
      timeout += seconds * kNsPerSecond;
    }
    formats::PprofContext context{.name = NameOf(kind),
                                  .time_ns = static_cast<std::uint64_t>(NowUnixNs())};
    for (const auto& [name, value] : target_.labels) {
      if (name == "service_name") {
        context.service = value;
      } else {
        context.labels.emplace_back(name, value);
      }
    }
    auto decoded = FetchProfile(url, context, timeout, job_.bearer_token, cancel_);
    const Result<> done = decoded ? Store(*std::move(decoded), url) : Result<>(decoded.error());
    if (!done && done.error().code() == Code::kCancelled) return true;
    Note(kind, done);
    return done.has_value();
  }

  Result<> Store(formats::DecodedProfiles decoded, const std::string& url) {
    intake_.metrics().Received(formats::Signal::kProfiles, Transport::kScrape,
                               decoded.data.ApproximateBytes());
    const bool since_start = std::ranges::any_of(decoded.data.profiles,
                                                 [](const auto& p) { return p.duration_ns == 0; });
    Intake::Origin origin;
    if (since_start) origin.counters = profile::FirstReading::kSetsBase;
    const std::int64_t now = NowUnixNs();
    origin.identity = HashString(fmt::format("{}\n{}", url, now));
    std::promise<Result<profile::WriteAnswer>> answered;
    intake_.Write(origin, std::move(decoded),
                  [&](Result<profile::WriteAnswer> r) { answered.set_value(std::move(r)); });
    const Result<profile::WriteAnswer> answer = answered.get_future().get();
    if (!answer) return answer.error();
    if (answer->rejected > 0) return Error(Code::kInvalid, answer->message);
    return {};
  }

  void Note(const ScrapeKind& kind, const Result<>& done) {
    MutexLock lock(mutex_);
    if (done) {
      ++health_.profiles;
      health_.last_ns = NowUnixNs();
      health_.errors.erase(kind.name);
      return;
    }
    std::string& error = health_.errors[kind.name];
    if (error != done.error().message()) {  // log once, not every interval
      error = done.error().message();
      Log(LogLevel::kWarn, "a scrape failed",
          {{"job", job_.name}, {"kind", kind.name}, {"error", error}});
    }
    MetricLabels labels = labels_;
    labels.emplace_back("kind", kind.name);
    Metrics::Global()
        .GetCounter("wherefore_scrape_failures_total", "Scrapes that failed.", labels)
        .Add();
  }

  Intake intake_;
  const ScrapeJob& job_;
  ScrapeTarget target_;
  const MetricLabels labels_;
  Gauge& up_;
  CancelToken cancel_;
  mutable Mutex mutex_;
  CondVar changed_;
  Health health_ GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all of the above
};

Scraper::Scraper(Intake intake, ScrapeConfig config)
    : intake_(std::move(intake)), config_(std::move(config)) {}

Scraper::~Scraper() {
  Stop();
}

void Scraper::Start() {
  if (config_.jobs.empty()) return;
  Update();
  watcher_ = std::thread([this] { Watch(); });
}

void Scraper::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    for (auto& [key, target] : targets_) target->RequestStop();
  }
  if (watcher_.joinable()) watcher_.join();
  std::map<std::string, std::unique_ptr<Target>> targets;
  {
    MutexLock lock(mutex_);
    targets.swap(targets_);
  }
}

void Scraper::Watch() {
  constexpr auto kLookEvery = std::chrono::seconds(2);
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stopping_) changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kLookEvery);
      if (stopping_) return;
    }
    Update();
  }
}

void Scraper::Update() {
  std::map<std::string, std::pair<const ScrapeJob*, ScrapeTarget>> wanted;
  std::map<std::string, std::string> errors;
  bool unreadable = false;
  for (const ScrapeJob& job : config_.jobs) {
    std::vector<TargetGroup> groups;
    for (const std::string& pattern : job.files) {
      for (const std::string& file : ExpandPattern(pattern)) {
        auto read = ReadTargetFile(file);
        if (read) {
          std::ranges::move(*read, std::back_inserter(groups));
        } else {
          errors[file] = read.error().message();
          unreadable = true;
        }
      }
    }
    for (ScrapeTarget& target : TargetsOf(job, groups)) {
      std::string key = KeyOf(job, target);
      wanted.try_emplace(std::move(key), &job, std::move(target));
    }
  }
  std::vector<std::unique_ptr<Target>> gone;  // joined without holding the lock
  MutexLock lock(mutex_);
  if (stopping_) return;
  for (const auto& [file, error] : errors) {
    if (!file_errors_.contains(file)) {
      Log(LogLevel::kWarn, "a target file cannot be used", {{"error", error}});
    }
  }
  file_errors_ = std::move(errors);
  left_out_ = 0;
  // A file that is being rewritten must not stop the targets it named before.
  for (auto it = targets_.begin(); !unreadable && it != targets_.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    it->second->RequestStop();
    gone.push_back(std::move(it->second));
    it = targets_.erase(it);
  }
  for (auto& [key, entry] : wanted) {
    if (targets_.contains(key)) continue;
    if (targets_.size() >= kMaxTargets) {
      ++left_out_;
      continue;
    }
    targets_[key] = std::make_unique<Target>(intake_, *entry.first, std::move(entry.second));
  }
}

Status Scraper::status() const {
  Status status;
  status.part = "scraper";
  MutexLock lock(mutex_);
  std::size_t healthy = 0;
  for (const auto& [key, target] : targets_) {
    const Target::Health health = target->health();
    healthy += health.errors.empty() ? 1 : 0;
    std::string text = fmt::format("{}: {} profiles", health.service, health.profiles);
    if (health.last_ns != 0) {
      text += fmt::format(", last {} ago",
                          FormatDuration(std::max<std::int64_t>(NowUnixNs() - health.last_ns, 0)));
    }
    status.facts.emplace_back(health.url, std::move(text));
    for (const auto& [kind, error] : health.errors) {
      status.problems.push_back({fmt::format("scraping {} ({}) fails: {}", health.url, kind, error),
                                 "is the program there, and does it serve net/http/pprof at that "
                                 "address? Kinds it does not have can be switched off"});
    }
  }
  for (const auto& [file, error] : file_errors_) {
    status.problems.push_back({"a target file cannot be used: " + error,
                               "fix it; until then the targets it named before are kept"});
  }
  if (left_out_ > 0) {
    status.problems.push_back(
        {fmt::format("{} targets are not scraped: the limit is {}", left_out_, kMaxTargets),
         "distribute them over several servers"});
  }
  status.facts.emplace(status.facts.begin(), "targets",
                       fmt::format("{}, {} of them healthy", targets_.size(), healthy));
  return status;
}

}  // namespace wherefore::gateway
