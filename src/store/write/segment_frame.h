// The payload of a log frame: identities of the group's requests, how they moved the bases of
// counters, then its rows (docs/format.md, "Frame").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/identities.h"
#include "profile/counters.h"
#include "store/write/rows.h"

namespace wherefore::store {

[[nodiscard]] std::string EncodeFrame(std::span<const journal::IdentityRecord> identities,
                                      std::span<const profile::CounterMove> moves,
                                      const RowSet& rows);

// What frames of a segment hold, added up.
struct FrameContent {
  std::vector<journal::IdentityRecord> identities;
  std::vector<profile::CounterMove> moves;
  RowSet rows;
};
// `version` is the segment's. Any bytes are safe to pass; after an error `content` is unchanged.
[[nodiscard]] Result<> ParseFrame(std::string_view frame, std::uint32_t version,
                                  FrameContent& content);
// All but the rows, which are most of it.
[[nodiscard]] Result<> ParseRequests(std::string_view& frame, std::uint32_t version,
                                     std::vector<journal::IdentityRecord>& identities,
                                     std::vector<profile::CounterMove>& moves);

}  // namespace wherefore::store
