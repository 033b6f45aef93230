// Joins OTLP requests into one and divides one in two, on their bytes.
//
// Resources are appended as they are; scopes are never joined, because that would change which
// counts stand for CPU time. The dictionaries of profiles become one: equal entries once, entries
// nobody refers to left out. Fields that nobody here knows are copied. The same input gives the
// same bytes, which is how a retry is recognised by the next server.
//
// Pure functions; any thread. kCorrupt: a request that no decoder of ours takes either.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/formats.h"

namespace wherefore::formats {

// One request that says what all of them say. A single one is returned as it is. A request in the
// layout of 1.8/1.9, or with a table whose entry 0 is not empty, is decoded and encoded first.
[[nodiscard]] Result<std::string> MergeOtlp(Signal signal,
                                            std::span<const std::string_view> requests);

// Two requests of about the same size that together say what `request` says: divided between
// scopes, or between spans; within the only scope of profiles between profiles or, if those belong
// together, between the samples of each. kLimit if nothing can be divided.
[[nodiscard]] Result<std::array<std::string, 2>> HalveOtlp(Signal signal, std::string_view request);

}  // namespace wherefore::formats
