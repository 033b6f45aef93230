// The functions of a selection, by what they did themselves. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"
#include "query/lens.h"
#include "query/search.h"
#include "query/tiers.h"

namespace wherefore::query {

struct TopAnswer {
  std::string type;
  std::string unit;
  std::int64_t scale = 1;
  std::int64_t total = 0;
  std::int64_t count = 0;
  bool averaged = false;
  std::string hint;                               // set when nothing was found
  std::vector<profile::FlameFunction> functions;  // [0]: the root
  std::vector<profile::TopRow> rows;              // largest self value first
  std::optional<Found> found;                     // of a search
  Tier tier;
};

// Of what the lens leaves. Without a lens and a search no tree is built.
Result<TopAnswer> Top(QueryContext& context, const Selection& selection, const Lens& lens,
                      const Search& search, const CancelToken& cancel);

}  // namespace wherefore::query
