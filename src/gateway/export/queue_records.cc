#include "gateway/export/queue_records.h"

#include "base/hash.h"
#include "base/raw_bytes.h"

namespace wherefore::gateway {
namespace {

// Takes numbers and texts from the front; after the first that is missing, nothing more.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <typename T>
  T Number() {
    if (!Has(sizeof(T))) return {};
    const T value = Load<T>(in_, 0);
    in_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view Text(std::size_t size) {
    if (!Has(size)) return {};
    const std::string_view text = in_.substr(0, size);
    in_.remove_prefix(size);
    return text;
  }
  std::string_view Text() { return Text(Number<std::uint32_t>()); }
  journal::IdentityRecord Identity() {
    journal::IdentityRecord record;
    ok_ = ok_ && journal::TakeIdentity(in_, journal::IdentityForm::kWithTenant, record);
    return record;
  }
  [[nodiscard]] bool Has(std::size_t size) { return ok_ = ok_ && size <= in_.size(); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return !ok_ || in_.empty(); }
  [[nodiscard]] const char* position() const { return in_.data(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

void AppendText(std::string& out, std::string_view text) {
  AppendRaw(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

}  // namespace

std::size_t AppendEntry(std::string& frame, std::uint64_t number, const QueueEntry& entry) {
  AppendRaw(frame, number);
  AppendRaw(frame, static_cast<std::uint8_t>(entry.signal));
  AppendRaw(frame, entry.items);
  AppendRaw(frame, entry.arrival_ns);
  AppendText(frame, entry.tenant);
  journal::AppendIdentity(frame, entry.request);
  AppendRaw(frame, Hash64(*entry.payload));
  AppendText(frame, *entry.payload);
  return frame.size() - entry.payload->size();
}

Result<std::vector<StoredEntry>> ParseEntries(std::string_view frame) {
  std::vector<StoredEntry> entries;
  Reader reader(frame);
  while (!reader.at_end()) {
    StoredEntry& entry = entries.emplace_back();
    entry.number = reader.Number<std::uint64_t>();
    entry.signal = static_cast<formats::Signal>(reader.Number<std::uint8_t>() & 1U);
    entry.items = reader.Number<std::uint32_t>();
    entry.arrival_ns = reader.Number<std::int64_t>();
    entry.tenant = reader.Text();
    entry.request = reader.Identity();
    entry.checksum = reader.Number<std::uint64_t>();
    entry.payload = reader.Text();
    entry.offset =
        static_cast<std::size_t>(reader.position() - frame.data()) - entry.payload.size();
  }
  if (!reader.ok()) return Error(Code::kCorrupt, "a queue's frame has no whole entries");
  return entries;
}

void AppendBatchRecord(std::string& frame, const BatchLogRecord& record) {
  using Kind = BatchLogRecord::Kind;
  AppendRaw(frame, static_cast<std::uint8_t>(record.kind));
  AppendRaw(frame, record.batch.id);
  if (record.kind != Kind::kBegun && record.kind != Kind::kFresh) return;
  AppendText(frame, record.batch.path);
  AppendRaw(frame, static_cast<std::uint32_t>(record.batch.entries.size()));
  for (const std::uint64_t number : record.batch.entries) AppendRaw(frame, number);
}

Result<std::vector<BatchLogRecord>> ParseBatchRecords(std::string_view frame) {
  using Kind = BatchLogRecord::Kind;
  std::vector<BatchLogRecord> records;
  Reader reader(frame);
  while (!reader.at_end()) {
    BatchLogRecord& record = records.emplace_back();
    record.kind = static_cast<Kind>(reader.Number<std::uint8_t>());
    record.batch.id = reader.Number<std::uint64_t>();
    if (record.kind < Kind::kBegun || record.kind > Kind::kFresh)
      return Error(Code::kCorrupt, "a queue's log of batches has a record of an unknown kind");
    if (record.kind != Kind::kBegun && record.kind != Kind::kFresh) continue;
    record.batch.path = reader.Text();
    const auto count = reader.Number<std::uint32_t>();
    if (!reader.Has(std::size_t{count} * 8)) break;
    record.batch.entries.resize(count);
    for (std::uint64_t& number : record.batch.entries) number = reader.Number<std::uint64_t>();
  }
  if (!reader.ok()) return Error(Code::kCorrupt, "a queue's log of batches ends early");
  return records;
}

}  // namespace wherefore::gateway
