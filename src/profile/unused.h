// Empties what nothing in a Batch refers to any more, so that what was taken out (an attribute, a
// profile, a name) does not leave with the tables after all. Indices stay as they are. One thread.
#pragma once

#include "profile/batch.h"

namespace wherefore::profile {

// What the profiles do not reach: samples, stacks, frames, functions, mappings, attributes,
// strings.
void BlankUnused(Batch& batch);

}  // namespace wherefore::profile
