// Empties what nothing in a Batch refers to any more, so that what was taken out (an attribute, a
// profile, a name) does not leave with the tables after all. One thread.
#pragma once

#include "profile/batch.h"

namespace wherefore::profile {

// What the profiles do not reach: samples, stacks, frames, functions, mappings, attributes,
// strings.
void BlankUnused(Batch& batch);
// The same, and makes the tables of the dictionary shorter (but for strings, of which encoders
// write only those in use): indices change.
void RemoveUnused(Batch& batch);

}  // namespace wherefore::profile
