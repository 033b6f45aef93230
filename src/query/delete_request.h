// What deleting a selection means to the store. Any thread.
#pragma once

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "store/delete.h"

namespace wherefore::query {

// The ids behind a selection, whatever the type, and the spans that match.
Result<store::DeleteRequest> ResolveDelete(QueryContext& context, const Selection& selection,
                                           const CancelToken& cancel);

}  // namespace wherefore::query
