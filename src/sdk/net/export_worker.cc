#include "sdk/net/export_worker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/text.h"
#include "formats/wire/protobuf.h"
#include "sdk/net/gzip.h"
#include "sdk/net/tls.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kFirstPauseNs = kNsPerSecond;
constexpr std::int64_t kLongestPauseNs = 30 * kNsPerSecond;
constexpr std::int64_t kLongestToldNs = 300 * kNsPerSecond;
constexpr std::int64_t kLogEveryNs = 60 * kNsPerSecond;
constexpr std::size_t kMaxRequestBytes = 64 << 20;  // as OTLP says

std::chrono::steady_clock::time_point At(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

bool Retryable(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

// Seconds, or an HTTP date; -1 when absent or unreadable.
std::int64_t RetryAfterNs(std::string_view text) {
  if (text.empty()) return -1;
  if (const auto seconds = ParseUint(text))
    return std::min(
        static_cast<std::int64_t>(std::min<std::uint64_t>(*seconds, 1U << 20)) * kNsPerSecond,
        kLongestToldNs);
  std::tm date{};
  const std::string owned(text);
  if (strptime(owned.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return -1;
  const std::int64_t wait = timegm(&date) * kNsPerSecond - NowUnixNs();
  return std::clamp<std::int64_t>(wait, 0, kLongestToldNs);
}

struct PartialSuccess {
  std::int64_t rejected = 0;
  std::string message;
};

// Export*ServiceResponse {1 partial_success {1 rejected, 2 error_message}}. Whatever cannot be read
// counts as full success: the status said so.
PartialSuccess ReadPartialSuccess(std::string_view body) {
  PartialSuccess out;
  try {
    formats::Pbf response = formats::Reader(body);
    while (response.next()) {
      if (response.tag_and_type() != static_cast<protozero::pbf_tag_type>(formats::LenKey(1))) {
        response.skip();
        continue;
      }
      formats::Pbf partial = response.get_message();
      while (partial.next()) {
        switch (static_cast<std::uint32_t>(partial.tag_and_type())) {
          case formats::VarintKey(1):
            out.rejected = partial.get_int64();
            break;
          case formats::LenKey(2):
            out.message = formats::GetView(partial);
            break;
          default:
            partial.skip();
        }
      }
    }
  } catch (const protozero::exception&) {
    return {};
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (char& c : out) c = c >= ' ' && c < '\x7f' ? c : '?';
  return out;
}

const char* SignalName(Signal signal) {
  return signal == Signal::kProfiles ? "profiles" : "traces";
}

// Added to the error when the answer is not HTTP/1: most likely it is gRPC.
constexpr const char* kProtocolHint =
    " (it is asked over HTTP/1; port 4317 is usually gRPC, 4318 HTTP)";

std::string StatusText(int status, const TextPairs& sent) {
  std::string text = fmt::format("the server answered {}", status);
  if (status != 401 && status != 403) return text;
  const bool authorized = std::any_of(sent.begin(), sent.end(), [](const auto& header) {
    return Lower(header.first) == "authorization";
  });
  return text + (authorized ? ": it does not accept the authorization of " : ": it wants one of ") +
         "WHEREFORE_TOKEN or OTEL_EXPORTER_OTLP_HEADERS";
}

}  // namespace

ExportWorker::ExportWorker(const Options& options, void (*before_tls_ends)(), const OpampHost& host)
    : options_(options),
      before_tls_ends_(before_tls_ends),
      random_(static_cast<unsigned>(MonotonicNs() ^ getpid())) {
  for (std::size_t i = 0; i < kSignalCount; ++i) {
    Lane& lane = lanes_[i];
    lane.signal = static_cast<Signal>(i);
    const bool profiles = lane.signal == Signal::kProfiles;
    lane.headers = profiles ? &options.profiles_headers : &options.traces_headers;
    if (auto url = ParseUrl(profiles ? options.profiles_url : options.traces_url))
      lane.client = std::make_unique<HttpClient>(std::move(*url), options.ca_file);
  }
  if (auto url = ParseUrl(options.opamp_url);
      host.apply != nullptr && !options.opamp_url.empty() && url)
    opamp_ = std::make_unique<OpampClient>(options, std::move(*url), host);
}

ExportWorker::~ExportWorker() = default;

bool ExportWorker::Start() {
  const MutexLock lock(mutex_);
  stopping_ = false;
  started_ = true;
  for (Lane& lane : lanes_) lane.gave_up = false;
  const bool nothing_yet = last_number_ == 0;
  return (options_.preloaded && nothing_yet) || StartThread();
}

bool ExportWorker::StartThread() {
  if (thread_.running()) return true;
  return thread_.Start(
      "wherefore-send", [](void* self) { static_cast<ExportWorker*>(self)->Run(); }, this);
}

void ExportWorker::Stop(std::int64_t deadline_ns) {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    started_ = false;
    stop_by_ns_ = deadline_ns;
    for (Lane& lane : lanes_) {
      if (!lane.told_to_wait) lane.not_before_ns = 0;
      if (lane.client != nullptr && in_flight_ != 0) lane.client->SetDeadline(deadline_ns);
    }
    if (polling_) opamp_->SetDeadline(deadline_ns);
    changed_.NotifyAll();
  }
  thread_.Join();
  const MutexLock lock(mutex_);
  std::size_t left = 0;
  bool said_why = false;
  for (Lane& lane : lanes_) {
    left += lane.queue.size();
    lane.queue.clear();
    said_why = said_why || lane.gave_up;
  }
  queued_bytes_ = 0;
  statistics_.dropped += left;
  if (left != 0 && !said_why) LogTrouble(fmt::format("{} requests were not sent in time", left));
}

bool ExportWorker::UsesTls() const {
  return options_.output_file.empty() &&
         ((opamp_ != nullptr && opamp_->tls()) ||
          std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
            return lane.client != nullptr && lane.client->tls();
          }));
}

void ExportWorker::Expect() {
  const MutexLock lock(mutex_);
  if (started_ && UsesTls()) StartThread();
}

void ExportWorker::StartThreadNow() {
  const MutexLock lock(mutex_);
  if (started_) StartThread();
}

void ExportWorker::PollNow() {
  const MutexLock lock(mutex_);
  if (opamp_ == nullptr || !started_ || !StartThread()) return;
  poll_at_ = 0;
  changed_.NotifyAll();
}

void ExportWorker::Enqueue(Signal signal, std::string request) {
  const MutexLock lock(mutex_);
  if (request.size() > std::min(kMaxRequestBytes, kMaxQueuedBytes)) {
    ++statistics_.dropped;
    LogTrouble(fmt::format("a request of {} bytes is too large to send; dropped", request.size()));
    return;
  }
  queued_bytes_ += request.size();
  lanes_[static_cast<std::size_t>(signal)].queue.push_back(
      {std::move(request), false, ++last_number_});
  if (started_ && !StartThread() && last_number_ == 1)
    LogTrouble("the system gave no thread to send from; what is sampled waits in memory");
  while (queued_bytes_ > kMaxQueuedBytes) DropOldest();
  changed_.NotifyAll();
}

void ExportWorker::DropOldest() {
  Lane* oldest = nullptr;
  for (Lane& lane : lanes_) {
    if (!lane.queue.empty() &&
        (oldest == nullptr || lane.queue.front().number < oldest->queue.front().number)) {
      oldest = &lane;
    }
  }
  queued_bytes_ -= oldest->queue.front().body.size();
  oldest->queue.pop_front();
  ++statistics_.dropped;
  if (const std::int64_t now = MonotonicNs(); now >= oldest->next_log_ns) {
    oldest->next_log_ns = now + kLogEveryNs;
    LogTrouble(fmt::format("the server does not take {} fast enough; {} requests dropped so far",
                           SignalName(oldest->signal), statistics_.dropped));
  }
}

bool ExportWorker::Flush(std::int64_t deadline_ns) {
  const MutexLock lock(mutex_);
  const std::uint64_t until = last_number_;
  for (Lane& lane : lanes_) {
    if (!lane.told_to_wait) lane.not_before_ns = 0;
  }
  changed_.NotifyAll();
  const auto waiting = [&]() REQUIRES(mutex_) {
    return (in_flight_ != 0 && in_flight_ <= until) ||
           std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
             return !lane.queue.empty() && lane.queue.front().number <= until;
           });
  };
  while (waiting()) {
    if (!thread_.running() || MonotonicNs() >= deadline_ns) return false;
    changed_.WaitUntil(mutex_, At(deadline_ns));
  }
  const std::uint64_t lost = statistics_.dropped + statistics_.rejected;
  return std::exchange(losses_reported_, lost) == lost;
}

ExporterStatistics ExportWorker::Statistics() const {
  const MutexLock lock(mutex_);
  return statistics_;
}

void ExportWorker::CloseAfterFork() {
  for (const Lane& lane : lanes_) {
    if (lane.client != nullptr) lane.client->CloseInChild();
  }
  if (opamp_ != nullptr) opamp_->CloseInChild();
}

ExportWorker::Lane* ExportWorker::NextDue(std::int64_t now, std::int64_t& wait_until) {
  Lane* due = nullptr;
  wait_until = now + 3600 * kNsPerSecond;
  for (Lane& lane : lanes_) {
    if (lane.queue.empty() || lane.gave_up) continue;
    if (lane.not_before_ns > now) {
      wait_until = std::min(wait_until, lane.not_before_ns);
    } else if (due == nullptr || lane.queue.front().number < due->queue.front().number) {
      due = &lane;
    }
  }
  return due;
}

void ExportWorker::Run() {
  if (before_tls_ends_ != nullptr && UsesTls()) TlsSession::Prepare(before_tls_ends_);
  while (std::optional<Job> job = WaitForJob()) {
    if (job->lane == nullptr) {
      Poll();
      continue;
    }
    const Outcome outcome = Deliver(*job->lane, job->item);
    const MutexLock lock(mutex_);
    in_flight_ = 0;
    Finish(*job->lane, std::move(job->item), outcome);
    changed_.NotifyAll();
  }
  SayGoodbye();
}

void ExportWorker::Poll() {
  const std::int64_t wait_ns = opamp_->Poll();
  const MutexLock lock(mutex_);
  polling_ = false;
  poll_at_ = MonotonicNs() + wait_ns;
}

// What is left of the time to stop in is enough, or it is not said.
void ExportWorker::SayGoodbye() {
  if (opamp_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    constexpr std::int64_t kLongestNs = 100'000'000;
    opamp_->SetDeadline(std::min(stop_by_ns_, MonotonicNs() + kLongestNs));
  }
  opamp_->Disconnect();
}

std::optional<ExportWorker::Job> ExportWorker::WaitForJob() {
  const MutexLock lock(mutex_);
  while (true) {
    const std::int64_t now = MonotonicNs();
    std::int64_t wait_until = 0;
    Lane* const lane = NextDue(now, wait_until);
    // A server that is gone must not delay the end of the program: one try after Stop, no more.
    const bool done = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& l) {
      return l.queue.empty() || l.gave_up || l.told_to_wait;
    });
    if (stopping_ && (done || now >= stop_by_ns_)) return std::nullopt;
    if (!stopping_ && poll_at_ <= now) {
      polling_ = true;
      opamp_->SetDeadline(now + options_.timeout_ns);
      return Job{};
    }
    if (lane == nullptr) {
      changed_.WaitUntil(mutex_, At(std::min(wait_until, stopping_ ? stop_by_ns_ : poll_at_)));
      continue;
    }
    Job job = {.lane = lane, .item = std::move(lane->queue.front())};
    lane->queue.pop_front();
    queued_bytes_ -= job.item.body.size();
    in_flight_ = job.item.number;
    const std::int64_t timeout = now + options_.timeout_ns;
    if (lane->client != nullptr)
      lane->client->SetDeadline(stopping_ ? std::min(timeout, stop_by_ns_) : timeout);
    return job;
  }
}

void ExportWorker::Finish(Lane& lane, Item item, const Outcome& outcome) {
  if (outcome.fate != Fate::kAgain) {
    lane.pause_ns = 0;
    lane.not_before_ns = 0;
    lane.told_to_wait = false;
    ++(outcome.fate == Fate::kArrived ? statistics_.sent : statistics_.rejected);
    if (outcome.fate == Fate::kArrived) statistics_.sent_bytes += item.body.size();
  } else {
    ++statistics_.retries;
    lane.pause_ns = std::clamp(lane.pause_ns * 2, kFirstPauseNs, kLongestPauseNs);
    // Half to one and a half of the pause: clients that failed together do not come back together.
    const double factor = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    const auto pause = static_cast<std::int64_t>(static_cast<double>(lane.pause_ns) * factor);
    lane.told_to_wait = outcome.wait_ns >= 0;
    lane.not_before_ns = MonotonicNs() + std::max(pause, outcome.wait_ns);
    lane.gave_up = stopping_;
    queued_bytes_ += item.body.size();
    lane.queue.push_front(std::move(item));
    while (queued_bytes_ > kMaxQueuedBytes) DropOldest();
  }
  if (opamp_ != nullptr && poll_at_ == INT64_MAX) poll_at_ = 0;
  Explain(lane, outcome);
}

void ExportWorker::Explain(Lane& lane, const Outcome& outcome) {
  if (outcome.why.empty()) return;
  const std::int64_t now = MonotonicNs();
  const bool quiet = now < lane.next_log_ns;
  lane.next_log_ns = quiet ? lane.next_log_ns : now + kLogEveryNs;
  const bool profiles = lane.signal == Signal::kProfiles;
  const std::string& to = !options_.output_file.empty() ? options_.output_file
                          : profiles                    ? options_.profiles_url
                                                        : options_.traces_url;
  const std::string text =
      fmt::format("{0} to {1}: {2}{3}", SignalName(lane.signal), to, outcome.why,
                  outcome.fate == Fate::kRejected
                      ? fmt::format("; these {} are dropped", SignalName(lane.signal))
                      : "");
  quiet ? Log(LogLevel::kDebug, text) : LogTrouble(text);
}

ExportWorker::Outcome ExportWorker::Deliver(Lane& lane, Item& item) {
  if (!options_.output_file.empty()) return WriteFile(lane.signal, item);
  if (lane.client == nullptr) return {Fate::kRejected, -1, "no usable address"};
  if (options_.gzip && !item.compressed) {
    if (auto packed = Gzip(item.body)) {
      item.body = std::move(*packed);
      item.compressed = true;
    }
  }
  TextPairs headers = {{"content-type", "application/x-protobuf"},
                       {"user-agent", "wherefore-sdk-cpp"}};
  if (item.compressed) headers.emplace_back("content-encoding", "gzip");
  for (const auto& [key, value] : *lane.headers) SetPair(headers, key, value);
  const Result<HttpAnswer> answer = lane.client->Post(headers, item.body);
  if (!answer) {
    const Code code = answer.error().code();
    const bool again = code == Code::kUnavailable || code == Code::kIo;
    return {again ? Fate::kAgain : Fate::kRejected, -1,
            answer.error().message() + (lane.client->other_protocol() ? kProtocolHint : "")};
  }
  if (answer->status / 100 == 2) {
    const PartialSuccess partial = ReadPartialSuccess(answer->body);
    if (partial.rejected == 0 && partial.message.empty()) return {};
    return {Fate::kArrived, -1,
            fmt::format("the server kept only a part ({} rejected): {}", partial.rejected,
                        Printable(partial.message))};
  }
  return {Retryable(answer->status) ? Fate::kAgain : Fate::kRejected,
          Retryable(answer->status) ? RetryAfterNs(answer->Header("retry-after")) : -1,
          StatusText(answer->status, headers)};
}

// One request a file (profiles cannot be joined without decoding them), complete when it has its
// name: "<output>-<pid>-<number>-profiles.otlp". `wherefore push <output>-*` takes them as they
// are.
ExportWorker::Outcome ExportWorker::WriteFile(Signal signal, const Item& item) {
  const std::string& base = options_.output_file;
  std::error_code ignored;
  const bool folder = base.ends_with('/') || std::filesystem::is_directory(base, ignored);
  if (folder) std::filesystem::create_directories(base, ignored);
  const char* const between = !folder ? "-" : base.ends_with('/') ? "" : "/";
  std::string path;
  do {  // what this process wrote before an exec, or before it was started again, stays
    path =
        fmt::format("{}{}{}-{:06}-{}.otlp", base, between, getpid(), ++files_, SignalName(signal));
  } while (access(path.c_str(), F_OK) == 0);
  const std::string temporary = path + ".tmp";
  std::FILE* const file = std::fopen(temporary.c_str(), "wbe");
  bool written = file != nullptr &&
                 std::fwrite(item.body.data(), 1, item.body.size(), file) == item.body.size();
  int reason = written ? 0 : errno;
  if (file != nullptr && std::fclose(file) != 0) {
    written = false;
    if (reason == 0) reason = errno;
  }
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (written) reason = errno;
  std::remove(temporary.c_str());
  return {Fate::kRejected, -1,
          fmt::format("cannot write {}: {}", path, std::generic_category().message(reason))};
}

}  // namespace wherefore::sdk
