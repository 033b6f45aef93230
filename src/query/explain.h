// explain: why a request, or the requests of an endpoint, took as long as they did, in a few lines.
//
// Rules over what other queries answer: the critical path says where, the accounting why, the
// difference of versions since when, slow versus typical unlike what. Nothing is guessed: a line
// that is not known says so or is left out. The same question over the same data gives the same
// text. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

struct Explanation {
  struct Line {
    std::string label;  // Where, Why, Since, Unlike, Sure?, See
    std::string text;
  };
  std::string title;
  std::vector<Line> lines;
  std::string path;                   // of the page that shows it
  std::vector<std::string> commands;  // that show more
};

Result<Explanation> ExplainTrace(QueryContext& context, std::uint32_t tenant,
                                 const profile::TraceId& trace, const CancelToken& cancel);
Result<Explanation> ExplainEndpoint(QueryContext& context, const store::SpanSearch& search,
                                    const CancelToken& cancel);

}  // namespace wherefore::query
