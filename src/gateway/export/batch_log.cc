#include "gateway/export/batch_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/log.h"

namespace wherefore::gateway {
namespace {

using Kind = BatchLogRecord::Kind;
constexpr std::uint64_t kLong = 1u << 20;
constexpr off_t kReserveBytes = 2 << 20;

}  // namespace

void BatchLog::State::Apply(const BatchLogRecord& record) {
  if (record.kind == Kind::kFresh) {
    *this = {.next_id = record.batch.id, .damaged = damaged};
    finished.insert(record.batch.entries.begin(), record.batch.entries.end());
    return;
  }
  const std::uint64_t id = record.batch.id;
  next_id = std::max(next_id, id + 1);
  if (record.kind == Kind::kBegun) {
    if (!open.try_emplace(id, record.batch).second) return;
    for (const std::uint64_t entry : record.batch.entries) ++batches_of[entry];
    return;
  }
  const auto ended = open.find(id);
  if (ended == open.end()) return;
  for (const std::uint64_t entry : ended->second.entries) {
    if (--batches_of[entry] > 0) continue;
    batches_of.erase(entry);
    if (record.kind == Kind::kEnded) finished.insert(entry);
  }
  open.erase(ended);
}

Result<BatchLog::State> BatchLog::Open(const std::string& directory) {
  reserve_ = directory + "/reserve";
  // Given up until the log is open: on a full disk there is no other room for its next segment.
  unlink(reserve_.c_str());
  WHEREFORE_RETURN_IF_ERROR(wal_.Open(directory + "/batches", 1));
  State state;
  for (const journal::Wal::Segment& segment : wal_.Closed()) ReadSegment(segment, state);
  Reserve();
  return state;
}

void BatchLog::ReadSegment(const journal::Wal::Segment& segment, State& state) {
  const auto bytes = journal::ReadWholeFile(segment.path);
  const auto content =
      bytes ? journal::ParseSegment(*bytes) : Result<journal::SegmentContent>(bytes.error());
  std::size_t damaged = content ? content->damaged.size() : 1;
  if (content) {
    for (const std::string_view frame : content->frames) {
      const auto records = ParseBatchRecords(frame);
      if (!records) ++damaged;
      if (!records) continue;
      for (const BatchLogRecord& record : *records) state.Apply(record);
    }
  }
  if (damaged == 0) return;
  state.damaged += damaged;
  Log(LogLevel::kWarn,
      "a queue's log of batches is damaged: requests may be sent twice, none is lost",
      {{"file", segment.path}});
}

Result<> BatchLog::Append(const std::vector<BatchLogRecord>& records) {
  std::string frame;
  for (const BatchLogRecord& record : records) AppendBatchRecord(frame, record);
  return AppendFrame(frame);
}

Result<> BatchLog::AppendFrame(std::string_view frame) {
  auto appended = wal_.Append(frame);
  if (!appended && appended.error().code() == Code::kUnavailable && has_reserve_) {
    unlink(reserve_.c_str());
    has_reserve_ = false;
    appended = wal_.Append(frame);
  }
  if (!appended) return std::move(appended).error().Within("queue");
  return {};
}

bool BatchLog::IsLong() const {
  return wal_.current_bytes() > kLong;
}

Result<> BatchLog::Renew(const std::vector<BatchLogRecord>& everything) {
  WHEREFORE_RETURN_IF_ERROR(wal_.Rotate());
  WHEREFORE_RETURN_IF_ERROR(Append(everything));
  for (const journal::Wal::Segment& segment : wal_.Closed())
    WHEREFORE_RETURN_IF_ERROR(wal_.Remove(segment.number));
  return {};
}

void BatchLog::Reserve() {
  if (has_reserve_) return;
  auto file = journal::File::Open(reserve_, O_WRONLY | O_CREAT);
  if (!file) return;
  has_reserve_ = posix_fallocate(file->fd(), 0, kReserveBytes) == 0;
  if (!has_reserve_) unlink(reserve_.c_str());
}

}  // namespace wherefore::gateway
