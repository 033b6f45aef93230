// See segment_frame.h.
#include "store/segment_frame.h"

#include <algorithm>
#include <iterator>

#include "store/counter_bases.h"
#include "store/raw_bytes.h"

namespace wherefore::store {

std::string EncodeFrame(std::span<const IdentityRecord> identities,
                        std::span<const profile::CounterMove> moves, const RowSet& rows) {
  std::string payload;
  payload.reserve(rows.ByteSize() + 64 * identities.size() + 4096);
  AppendRaw(payload, static_cast<std::uint32_t>(identities.size()));
  for (const IdentityRecord& record : identities) AppendIdentity(payload, record);
  AppendMoves(payload, moves);
  rows.Serialize(payload);
  return payload;
}

Result<> ParseIdentities(std::string_view& frame, std::uint32_t version,
                         std::vector<IdentityRecord>& identities) {
  if (frame.size() < sizeof(std::uint32_t)) return Error(Code::kCorrupt, "log frame: truncated");
  const auto count = Load<std::uint32_t>(frame, 0);
  frame.remove_prefix(sizeof(count));
  const auto form = version == 1 ? IdentityForm::kWithoutTenant : IdentityForm::kWithTenant;
  std::vector<IdentityRecord> taken;
  for (std::uint32_t i = 0; i < count; ++i) {
    IdentityRecord record;
    if (!TakeIdentity(frame, form, record)) {
      return Error(Code::kCorrupt, "log frame: damaged identity");
    }
    taken.push_back(std::move(record));
  }
  std::ranges::move(taken, std::back_inserter(identities));
  return {};
}

Result<> ParseFrame(std::string_view frame, std::uint32_t version, FrameContent& content) {
  std::vector<IdentityRecord> identities;
  WHEREFORE_RETURN_IF_ERROR(ParseIdentities(frame, version, identities));
  std::vector<profile::CounterMove> moves;
  if (version > 1 && !TakeMoves(frame, moves)) {
    return Error(Code::kCorrupt, "log frame: damaged bases of counters");
  }
  WHEREFORE_RETURN_IF_ERROR(content.rows.ParseAndAppend(frame));
  std::ranges::move(identities, std::back_inserter(content.identities));
  std::ranges::move(moves, std::back_inserter(content.moves));
  return {};
}

}  // namespace wherefore::store
