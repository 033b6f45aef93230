// Takes the detail out of samples: links, labels that tie them to spans, and times. Samples that
// are equal without it become one. Pure; any thread.
//
// Always: values and observations of a profile add up to what they were. A profile that lost
//         something has the attribute kReducedKey (profile/reduced.h), which says why.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "profile/batch.h"

namespace wherefore::gateway {

// `keeps`: by link, whose samples stay as they are. True if something changed.
bool ReduceDetail(profile::Batch& batch, const std::vector<bool>& keeps, std::string_view why);

}  // namespace wherefore::gateway
