#include "gateway/graph/exporter_set.h"

#include <ranges>

#include <fmt/format.h>

#include "base/log.h"

namespace wherefore::gateway {

void ExporterSlot::Write(profile::WriteRequest request,
                         std::function<void(Result<profile::WriteAnswer>)> done) {
  {
    ReaderLock lock(mutex_);
    if (exporter_) return exporter_->Write(std::move(request), std::move(done));
  }
  done(Error(Code::kUnavailable, fmt::format("exporter {} was removed; send it again", id_)));
}

Result<std::unique_ptr<Exporter>> ExporterSlot::Exchange(std::unique_ptr<Exporter> next) {
  WriterLock lock(mutex_);
  if (exporter_) exporter_->Stop();
  if (next) {
    if (const Result<> started = next->Start(); !started) {
      // The queue is the old one's again.
      const Result<> again = exporter_ ? exporter_->Start() : Result<>();
      if (!again) {
        Log(LogLevel::kError, "an exporter could not be started again",
            {{"exporter", id_}, {"error", again.error().message()}});
        exporter_.reset();
      }
      return Error(started.error()).Within("exporter " + id_);
    }
  }
  exporter_.swap(next);
  return next;
}

Status ExporterSlot::status() const {
  ReaderLock lock(mutex_);
  if (exporter_) return exporter_->status();
  return {.part = id_, .facts = {}, .problems = {{"the exporter is not running", "", false}}};
}

Result<> ExporterSet::Update(const std::map<std::string, ExporterConfig>& config) {
  // All are made before any is started: making one opens nothing.
  std::map<std::string, std::unique_ptr<Exporter>> made;
  All next;
  {
    MutexLock lock(mutex_);
    next = exporters_;
  }
  for (const auto& [id, exporter] : config) {
    const auto there = next.find(id);
    const bool same = there != next.end() && there->second.canonical == exporter.canonical;
    if (exporter.is_store || same) continue;
    auto one = make_(exporter.options);
    if (!one) return Error(one.error()).Within("exporter " + id);
    made[id] = *std::move(one);
  }
  std::vector<std::pair<std::shared_ptr<ExporterSlot>, std::unique_ptr<Exporter>>> exchanged;
  for (auto& [id, exporter] : made) {
    Held& held = next[id];
    if (!held.slot) held.slot = std::make_shared<ExporterSlot>(id);
    auto old = held.slot->Exchange(std::move(exporter));
    if (!old) {
      for (auto& [slot, before] : exchanged | std::views::reverse) {
        (void)slot->Exchange(std::move(before));
      }
      return old.error();
    }
    exchanged.emplace_back(held.slot, *std::move(old));
    held.canonical = config.at(id).canonical;
  }
  MutexLock lock(mutex_);
  exporters_ = std::move(next);
  return {};
}

void ExporterSet::RemoveOthers(const std::map<std::string, ExporterConfig>& config) {
  std::vector<std::shared_ptr<ExporterSlot>> gone;
  {
    MutexLock lock(mutex_);
    for (auto it = exporters_.begin(); it != exporters_.end();) {
      if (config.contains(it->first)) {
        ++it;
        continue;
      }
      gone.push_back(std::move(it->second.slot));
      it = exporters_.erase(it);
    }
  }
  for (const auto& slot : gone) (void)slot->Exchange(nullptr);
}

void ExporterSet::Stop() {
  RemoveOthers({});
}

std::shared_ptr<ExporterSlot> ExporterSet::Find(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = exporters_.find(id);
  return found == exporters_.end() ? nullptr : found->second.slot;
}

std::vector<Status> ExporterSet::status() const {
  All all;
  {
    MutexLock lock(mutex_);
    all = exporters_;
  }
  std::vector<Status> out;
  for (const auto& [id, held] : all) out.push_back(held.slot->status());
  return out;
}

}  // namespace wherefore::gateway
