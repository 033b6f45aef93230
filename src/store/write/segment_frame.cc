// See segment_frame.h.
#include "store/write/segment_frame.h"

#include <algorithm>
#include <iterator>

#include "base/raw_bytes.h"
#include "journal/counter_bases.h"

namespace wherefore::store {

std::string EncodeFrame(std::span<const journal::IdentityRecord> identities,
                        std::span<const profile::CounterMove> moves, const RowSet& rows) {
  std::string payload;
  payload.reserve(rows.ByteSize() + 64 * identities.size() + 4096);
  AppendRaw(payload, static_cast<std::uint32_t>(identities.size()));
  for (const journal::IdentityRecord& record : identities) journal::AppendIdentity(payload, record);
  journal::AppendMoves(payload, moves);
  rows.Serialize(payload);
  return payload;
}

Result<> ParseRequests(std::string_view& frame, std::uint32_t version,
                       std::vector<journal::IdentityRecord>& identities,
                       std::vector<profile::CounterMove>& moves) {
  if (frame.size() < sizeof(std::uint32_t)) return Error(Code::kCorrupt, "log frame: truncated");
  const auto count = Load<std::uint32_t>(frame, 0);
  frame.remove_prefix(sizeof(count));
  const auto form =
      version == 1 ? journal::IdentityForm::kWithoutTenant : journal::IdentityForm::kWithTenant;
  std::vector<journal::IdentityRecord> taken;
  for (std::uint32_t i = 0; i < count; ++i) {
    journal::IdentityRecord record;
    if (!journal::TakeIdentity(frame, form, record)) {
      return Error(Code::kCorrupt, "log frame: damaged identity");
    }
    taken.push_back(std::move(record));
  }
  std::vector<profile::CounterMove> moved;
  if (version > 1 && !journal::TakeMoves(frame, moved)) {
    return Error(Code::kCorrupt, "log frame: damaged bases of counters");
  }
  std::ranges::move(taken, std::back_inserter(identities));
  std::ranges::move(moved, std::back_inserter(moves));
  return {};
}

Result<> ParseFrame(std::string_view frame, std::uint32_t version, FrameContent& content) {
  std::vector<journal::IdentityRecord> identities;
  std::vector<profile::CounterMove> moves;
  WHEREFORE_RETURN_IF_ERROR(ParseRequests(frame, version, identities, moves));
  WHEREFORE_RETURN_IF_ERROR(content.rows.ParseAndAppend(frame));
  std::ranges::move(identities, std::back_inserter(content.identities));
  std::ranges::move(moves, std::back_inserter(content.moves));
  return {};
}

}  // namespace wherefore::store
