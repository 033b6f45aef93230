// MakeExporter: which exporter an ExporterOptions describes.
#include <fmt/format.h>

#include "gateway/export/debug_exporter.h"
#include "gateway/export/exporter.h"
#include "gateway/export/queued_exporter.h"
#include "gateway/export/senders.h"

namespace wherefore::gateway {
namespace {

Result<std::unique_ptr<Sender>> MakeSender(const ExporterOptions& options) {
  switch (options.kind) {
    case ExporterOptions::Kind::kOtlpGrpc:
      return MakeOtlpGrpcSender(options);
    case ExporterOptions::Kind::kOtlpHttp:
      return MakeOtlpHttpSender(options);
    case ExporterOptions::Kind::kPyroscope:
      return MakePyroscopeSender(options);
    case ExporterOptions::Kind::kFile:
      return MakeFileSender(options);
    case ExporterOptions::Kind::kDebug:
      break;
  }
  return Error(Code::kInternal, "this exporter has no sender");
}

Result<> CheckQueue(const ExporterOptions& options) {
  if (options.queue.directory.empty())
    return Error::At(Code::kInvalid, "sending_queue", "has no directory");
  if (options.queue.size == 0)
    return Error::At(Code::kInvalid, "sending_queue.queue_size", "must be above 0");
  if (options.queue.consumers < 1 || options.queue.consumers > 1000)
    return Error::At(Code::kInvalid, "sending_queue.num_consumers", "must be between 1 and 1000");
  const auto& batch = options.queue.batch;
  if (batch && batch->max_size > 0 && batch->max_size < batch->min_size)
    return Error::At(Code::kInvalid, "sending_queue.batch.max_size", "is less than min_size");
  if (options.timeout_ns <= 0) return Error::At(Code::kInvalid, "timeout", "must be above 0");
  return {};
}

}  // namespace

Result<std::unique_ptr<Exporter>> MakeExporter(ExporterOptions options) {
  if (options.kind == ExporterOptions::Kind::kDebug)
    return std::make_unique<DebugExporter>(options.id, options.debug);
  WHEREFORE_RETURN_IF_ERROR(CheckQueue(options));
  WHEREFORE_ASSIGN_OR_RETURN(auto sender, MakeSender(options));
  if (options.kind == ExporterOptions::Kind::kFile) options.queue.consumers = 1;  // keeps the order
  return std::make_unique<QueuedExporter>(std::move(options), std::move(sender));
}

}  // namespace wherefore::gateway
