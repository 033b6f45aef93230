// Data for tests of the layers above, which see nothing of the store: where it is kept, and small
// requests to put into it.
#pragma once

#include "query/context.h"
#include "store/test_generated.h"
#include "store/test_queries.h"
#include "store/test_spans.h"

namespace wherefore::query {

using store::BatchBuilder;
using store::Generated;
using store::Kept;
using store::KeptName;
using store::kTrace;
using store::QueryTest;
using store::SpanRequest;
using store::TestData;
using store::WhereverItCan;

}  // namespace wherefore::query
