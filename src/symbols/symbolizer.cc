#include "symbols/symbolizer.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace wherefore::symbols {
namespace {

constexpr std::size_t kAddressesAtOnce = 1024;  // 20 us each, once the file is open
constexpr std::size_t kMaxModules = 10'000;
constexpr std::int64_t kTryFailedAgainNs = 600 * kNsPerSecond;
constexpr std::int64_t kMaxRetryNs = 3600 * kNsPerSecond;

std::size_t BytesOf(const ResolvedFrame& frame) {
  std::size_t bytes = 96 + frame.capacity() * sizeof(ResolvedLine);
  for (const ResolvedLine& line : frame) {
    bytes += line.name.capacity() + line.system_name.capacity() + line.file.capacity();
  }
  return bytes;
}

// 0 (never code) for an offset outside every segment.
std::vector<std::uint64_t> VirtualAddresses(std::span<const elf::Segment> segments,
                                            std::span<const ModuleAddress> addresses) {
  std::vector<std::uint64_t> out;
  out.reserve(addresses.size());
  for (const ModuleAddress& address : addresses) {
    out.push_back(address.is_file_offset ? elf::AddressOfOffset(segments, address.value).value_or(0)
                                         : address.value);
  }
  return out;
}

}  // namespace

Symbolizer::Symbolizer(SymbolizerOptions options)
    : options_(std::move(options)), worker_(options_.worker) {}

Symbolizer::Known Symbolizer::Recall(const std::string& build_id) {
  MutexLock lock(mutex_);
  const auto it = modules_.find(build_id);
  if (it == modules_.end()) return {};
  Module& module = it->second;
  module.last_use = ++uses_;
  return {.search = !module.settled() && MonotonicNs() >= module.search_again_ns,
          .files = module.failed ? std::nullopt : module.files,
          .version = module.version};
}

Symbolizer::Known Symbolizer::Locate(const ModuleName& name, std::int64_t deadline_ns) {
  const std::string build_id(name.build_id);
  Known known = Recall(build_id);
  if (!known.search || !TakeWorker(deadline_ns)) return known;
  known = Recall(build_id);  // another thread may have searched meanwhile
  if (known.search) {
    Search(name);
    known = Recall(build_id);
  }
  GiveWorkerBack();
  return known;
}

void Symbolizer::Search(const ModuleName& name) {
  const std::string build_id(name.build_id);
  auto found = worker_.Find({name.build_id, name.path, options_.search_path},
                            MonotonicNs() + options_.answer_limit_ns);
  if (!found && found.error().code() != Code::kNotFound) {
    Fail(build_id, std::string(name.path), found.error());
    return;
  }
  MutexLock lock(mutex_);
  ++searches_;
  if (modules_.size() > kMaxModules) {
    bytes_ = 0;
    modules_.clear();
  }
  StoreFiles(modules_[build_id], found ? std::optional(*std::move(found)) : std::nullopt);
}

void Symbolizer::StoreFiles(Module& module, std::optional<ModuleFiles> files) {
  const bool others = files && (!module.files || module.files->program != files->program ||
                                module.files->debug != files->debug);
  if (others || module.failed || module.version == 0) {
    module.version = ++versions_;
    bytes_ -= std::exchange(module.bytes, 0);
    module.frames.clear();
  }
  module.files = std::move(files);
  module.failed = false;
  if (!module.settled()) Schedule(module, options_.search_again_ns);
}

void Symbolizer::Schedule(Module& module, std::int64_t at_least_ns) {
  module.retry_ns = std::min(std::max(2 * module.retry_ns, at_least_ns), kMaxRetryNs);
  module.search_again_ns = MonotonicNs() + module.retry_ns;
}

bool Symbolizer::HasNews(const ModuleName& name, std::uint64_t version, std::int64_t deadline_ns) {
  return Locate(name, deadline_ns).version != version;
}

std::vector<std::uint64_t> Symbolizer::TakeKnown(const std::string& build_id,
                                                 std::span<const std::uint64_t> addresses,
                                                 Answer& answer) {
  std::vector<std::uint64_t> unknown;
  MutexLock lock(mutex_);
  const Module& module = modules_[build_id];
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto it = module.frames.find(addresses[i]);
    if (it == module.frames.end()) {
      if (addresses[i] != 0) unknown.push_back(addresses[i]);
    } else if (!it->second->empty()) {
      answer.frames[i] = it->second;
    }
  }
  std::ranges::sort(unknown);
  const auto repeated = std::ranges::unique(unknown);
  unknown.erase(repeated.begin(), repeated.end());
  return unknown;
}

void Symbolizer::Keep(const std::string& build_id, std::span<const std::uint64_t> addresses,
                      std::vector<ResolvedFrame> frames) {
  if (options_.edit) std::ranges::for_each(frames, options_.edit);
  MutexLock lock(mutex_);
  Module& module = modules_[build_id];
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::size_t bytes = BytesOf(frames[i]);
    const auto [it, added] = module.frames.try_emplace(
        addresses[i], std::make_shared<const ResolvedFrame>(std::move(frames[i])));
    if (!added) continue;
    module.bytes += bytes;
    bytes_ += bytes;
    ++resolved_;
  }
}

void Symbolizer::Evict() {
  while (bytes_ > options_.cache_bytes) {
    Module* oldest = nullptr;
    for (auto& [id, module] : modules_) {
      if (module.bytes > 0 && (oldest == nullptr || module.last_use < oldest->last_use)) {
        oldest = &module;
      }
    }
    if (oldest == nullptr) return;
    bytes_ -= std::exchange(oldest->bytes, 0);
    oldest->frames.clear();
  }
}

void Symbolizer::ForgetFiles(const std::string& build_id) {
  MutexLock lock(mutex_);
  Module& module = modules_[build_id];
  module.files.reset();
  Schedule(module, options_.search_again_ns);
}

void Symbolizer::Fail(const std::string& build_id, const std::string& file, const Error& error) {
  Log(LogLevel::kWarn, "debug information cannot be used",
      {{"file", file}, {"error", error.message()}});
  MutexLock lock(mutex_);
  Module& module = modules_[build_id];
  module.failed = true;
  Schedule(module, kTryFailedAgainNs);
  ++failures_;
  last_failure_ = file;
}

bool Symbolizer::TakeWorker(std::int64_t deadline_ns) {
  // MonotonicNs is the steady clock: a deadline of "never" passes it unchanged, where adding to now
  // would overflow.
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline_ns)};
  MutexLock lock(mutex_);
  while (worker_busy_) {
    if (!worker_free_.WaitUntil(mutex_, until)) break;
  }
  if (worker_busy_ || MonotonicNs() >= deadline_ns) return false;
  worker_busy_ = true;
  return true;
}

void Symbolizer::NoteConfinement() {
  if (worker_.why_not_confined() == why_not_confined_) return;
  why_not_confined_ = worker_.why_not_confined();
  if (why_not_confined_.empty()) return;
  Log(LogLevel::kWarn, "debug information is read without a sandbox",
      {{"error", why_not_confined_}});
}

void Symbolizer::GiveWorkerBack() {
  MutexLock lock(mutex_);
  NoteConfinement();
  worker_busy_ = false;
  worker_free_.NotifyOne();
}

bool Symbolizer::AskWorker(const std::string& build_id, const ModuleFiles& files,
                           std::span<const std::uint64_t> addresses, std::int64_t deadline_ns) {
  while (!addresses.empty()) {
    if (MonotonicNs() >= deadline_ns) return false;
    const auto part = addresses.first(std::min(addresses.size(), kAddressesAtOnce));
    auto frames = worker_.Resolve({build_id, files.program, files.debug, part},
                                  MonotonicNs() + options_.answer_limit_ns);
    if (!frames && frames.error().code() == Code::kNotFound) {
      ForgetFiles(build_id);
      return true;
    }
    if (!frames) {
      Fail(build_id, files.debug.empty() ? files.program : files.debug, frames.error());
      return true;
    }
    Keep(build_id, part, *std::move(frames));
    addresses = addresses.subspan(part.size());
  }
  return true;
}

Symbolizer::Answer Symbolizer::Resolve(const ModuleName& name,
                                       std::span<const ModuleAddress> addresses,
                                       std::int64_t deadline_ns) {
  Answer answer{.frames = std::vector<std::shared_ptr<const ResolvedFrame>>(addresses.size())};
  const std::string build_id(name.build_id);
  const Known known = Locate(name, deadline_ns);
  answer.version = known.version;
  if (known.files) {
    Fill(build_id, known, addresses, deadline_ns, answer);
  } else {
    answer.postponed = known.search;
  }
  MutexLock lock(mutex_);
  const auto it = modules_.find(build_id);
  answer.settled =
      it != modules_.end() && it->second.settled() && it->second.version == known.version;
  Evict();
  return answer;
}

void Symbolizer::Fill(const std::string& build_id, const Known& known,
                      std::span<const ModuleAddress> addresses, std::int64_t deadline_ns,
                      Answer& answer) {
  const auto wanted = VirtualAddresses(known.files->segments, addresses);
  if (TakeKnown(build_id, wanted, answer).empty()) return;
  if (!TakeWorker(deadline_ns)) {
    answer.postponed = true;
    return;
  }
  if (Recall(build_id).version != known.version) {  // better files were found: use them next time
    GiveWorkerBack();
    answer.postponed = true;
    return;
  }
  // Check again: another thread may have resolved them meanwhile.
  const std::vector<std::uint64_t> unknown = TakeKnown(build_id, wanted, answer);
  answer.postponed = !AskWorker(build_id, *known.files, unknown, deadline_ns);
  GiveWorkerBack();
  (void)TakeKnown(build_id, wanted, answer);
}

Status Symbolizer::status() const {
  MutexLock lock(mutex_);
  std::size_t found = 0;
  for (const auto& [id, module] : modules_) found += module.files ? 1 : 0;
  Status status{
      .part = "symbols",
      .facts = {{"modules asked for", FormatCount(static_cast<std::int64_t>(modules_.size()))},
                {"found on this machine", FormatCount(static_cast<std::int64_t>(found))},
                {"searches for files", FormatCount(static_cast<std::int64_t>(searches_))},
                {"addresses resolved", FormatCount(static_cast<std::int64_t>(resolved_))},
                {"kept", FormatBytes(static_cast<std::int64_t>(bytes_))}}};
  if (!why_not_confined_.empty()) {
    status.problems.push_back(
        {.what = "files of profiled programs are read without a sandbox: " + why_not_confined_,
         .fix = "let the server use seccomp; until then a malicious file could act with the rights "
                "of the server's user (--no-symbols reads none)"});
  }
  if (failures_ > 0) {
    status.problems.push_back(
        {.what = fmt::format("the debug information of {} could not be used", last_failure_),
         .fix =
             "its functions keep the names they were sent with; the server's log has the reason"});
  }
  return status;
}

}  // namespace wherefore::symbols
