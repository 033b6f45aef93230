// Types of the store that queries and answers consist of, under the names by which the layers
// above know them: those see nothing else of the store.
#pragma once

#include "store/read.h"

namespace wherefore::query {

using store::EngineStatistics;
using store::LatencyRow;
using store::ProfileRow;
using store::SpanRow;
using store::SpanSearch;
using store::TimeRange;

}  // namespace wherefore::query
