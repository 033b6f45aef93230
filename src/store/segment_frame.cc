// See segment_frame.h.
#include "store/segment_frame.h"

#include <cstring>

namespace wherefore::store {

std::string EncodeFrame(std::span<const IdentityRecord> identities, const RowSet& rows) {
  std::string payload;
  payload.reserve(rows.ByteSize() + 64 * identities.size() + 4096);
  const auto count = static_cast<std::uint32_t>(identities.size());
  payload.append(reinterpret_cast<const char*>(&count), sizeof(count));
  for (const IdentityRecord& record : identities) AppendIdentity(payload, record);
  rows.Serialize(payload);
  return payload;
}

Result<> ParseFrame(std::string_view frame, std::vector<IdentityRecord>* identities, RowSet* rows) {
  std::uint32_t count = 0;
  if (frame.size() < sizeof(count)) return Error(Code::kCorrupt, "log frame: truncated");
  std::memcpy(&count, frame.data(), sizeof(count));
  frame.remove_prefix(sizeof(count));
  for (std::uint32_t i = 0; i < count; ++i) {
    IdentityRecord record;
    if (!TakeIdentity(frame, record)) return Error(Code::kCorrupt, "log frame: damaged identity");
    if (identities != nullptr) identities->push_back(std::move(record));
  }
  return rows != nullptr ? rows->ParseAndAppend(frame) : Result<>();
}

}  // namespace wherefore::store
