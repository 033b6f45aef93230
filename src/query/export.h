// The way out: stored rows back into a Batch, one profile as it came in or many added up. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "query/context.h"

namespace wherefore::query {

// What is stored of the selection's profiles, the newest first; at most `limit`, 0: all.
Result<std::vector<store::ProfileRow>> Profiles(QueryContext& context, const Selection& selection,
                                                std::size_t limit, const CancelToken& cancel);
// The stored profile(s) with this id, as they came in.
Result<profile::Batch> StoredProfile(QueryContext& context, std::uint32_t tenant,
                                     const profile::ProfileId& id, const CancelToken& cancel);
// Every profile of the selection, each on its own, as it came in; at most `limit`.
Result<profile::Batch> StoredProfiles(QueryContext& context, const Selection& selection,
                                      std::size_t limit, const CancelToken& cancel);
// The selection added up into one profile per type of its family, labels of samples kept: for
// pprof.
Result<profile::Batch> Merged(QueryContext& context, const Selection& selection,
                              const CancelToken& cancel);

}  // namespace wherefore::query
