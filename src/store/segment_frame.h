// The payload of a log frame: identities of the group's requests, then its rows (docs/format.md,
// "Frame").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/identities.h"
#include "store/rows.h"

namespace wherefore::store {

[[nodiscard]] std::string EncodeFrame(std::span<const IdentityRecord> identities,
                                      const RowSet& rows);
// Either target may be null. Any bytes are safe to pass; after an error `rows` is unchanged.
[[nodiscard]] Result<> ParseFrame(std::string_view frame, std::vector<IdentityRecord>* identities,
                                  RowSet* rows);

}  // namespace wherefore::store
