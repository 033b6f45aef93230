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

Result<> ExporterSlot::Exchange(std::unique_ptr<Exporter> next) {
  WriterLock lock(mutex_);
  if (exporter_) exporter_->Stop();
  exporter_.reset();  // its queue is free before the next one opens it
  if (!next) return {};
  if (const Result<> started = next->Start(); !started) {
    return Error(started.error()).Within("exporter " + id_);
  }
  exporter_ = std::move(next);
  return {};
}

Status ExporterSlot::status() const {
  ReaderLock lock(mutex_);
  if (exporter_) return exporter_->status();
  return {.part = id_, .facts = {}, .problems = {{"the exporter is not running", "", false}}};
}

Result<> ExporterSet::Update(const std::map<std::string, ExporterConfig>& config) {
  All before;
  {
    MutexLock lock(mutex_);
    before = exporters_;
  }
  All next = before;
  // All are made before any is started: making one opens nothing.
  std::map<std::string, std::unique_ptr<Exporter>> made;
  for (const auto& [id, exporter] : config) {
    const auto there = next.find(id);
    const bool same = there != next.end() && there->second.config.options == exporter.options &&
                      there->second.config.canonical == exporter.canonical;
    if (exporter.is_store || same) continue;
    auto one = make_(exporter);
    if (!one) return Error(one.error()).Within("exporter " + id);
    made[id] = *std::move(one);
  }
  std::vector<std::shared_ptr<ExporterSlot>> changed;
  for (auto& [id, exporter] : made) {
    Held& held = next[id];
    if (!held.slot) held.slot = std::make_shared<ExporterSlot>(id);
    held.config = config.at(id);
    changed.push_back(held.slot);
    if (const Result<> started = held.slot->Exchange(std::move(exporter)); !started) {
      Restore(before, changed);
      return started.error();
    }
  }
  MutexLock lock(mutex_);
  exporters_ = std::move(next);
  return {};
}

void ExporterSet::Restore(const All& before,
                          const std::vector<std::shared_ptr<ExporterSlot>>& changed) {
  for (const auto& slot : changed | std::views::reverse) {
    const auto old = before.find(slot->id());
    auto again = old == before.end() ? Result<std::unique_ptr<Exporter>>(nullptr)
                                     : make_(old->second.config);
    const Result<> restored = again ? slot->Exchange(*std::move(again)) : again.error();
    if (restored) continue;
    Log(LogLevel::kError, "an exporter could not be started again",
        {{"exporter", slot->id()}, {"error", restored.error().message()}});
  }
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
