#include "sdk/net/exporter.h"

#include <unistd.h>

#include "sdk/net/export_worker.h"

namespace wherefore::sdk {

Exporter::Exporter(const Options& options, void (*before_tls_ends)(), const OpampHost& host)
    : options_(options),
      before_tls_ends_(before_tls_ends),
      host_(host),
      worker_(new ExportWorker(options_, before_tls_ends_, host_)),
      pid_(getpid()) {}

Exporter::~Exporter() {
  worker_->Stop(0);
  delete worker_;
}

bool Exporter::Start() {
  started_ = worker_->Start();
  return started_;
}

void Exporter::Stop(std::int64_t deadline_ns) {
  worker_->Stop(deadline_ns);
  started_ = false;
}

void Exporter::Expect() {
  worker_->Expect();
}

void Exporter::StartThread() {
  worker_->StartThreadNow();
}

void Exporter::Poll() {
  worker_->PollNow();
}

void Exporter::Enqueue(Signal signal, std::string request) {
  worker_->Enqueue(signal, std::move(request));
}

bool Exporter::Flush(std::int64_t deadline_ns) {
  return worker_->Flush(deadline_ns);
}

ExporterStatistics Exporter::Statistics() const {
  return worker_->Statistics();
}

std::int64_t Exporter::CpuTime() const {
  return worker_->CpuTime();
}

void Exporter::AbandonInChild() {
  worker_->CloseAfterFork();
  worker_ = new ExportWorker(options_, before_tls_ends_, host_);
  pid_ = getpid();
}

void Exporter::AfterFork() {
  if (pid_ != getpid()) AbandonInChild();
  if (started_) started_ = worker_->Start();
}

}  // namespace wherefore::sdk
