// QueryContext: what every query works with.
//
// A query is a function over a QueryContext, in a pair of files of its own: flame, top, timeline,
// heat, list, labels, overview, traces, function_traces, span_profile, export. They share scan.h
// (selector to sums) and view.h (from a whole tree to what is shown). Each is exact, honours its
// cancel token and the store's limits, and explains an answer without data in its `hint`: that is
// not an error.
//
// Threads: any. The caches lock themselves.
#pragma once

#include <cstddef>

#include "query/catalog.h"
#include "query/stack_tries.h"

namespace wherefore::query {

struct QueryContext {
  // `symbolizer` adds lines to frames that came without; null: names stay as they were sent.
  explicit QueryContext(store::Reader& the_reader, symbols::Symbolizer* the_symbolizer = nullptr,
                        std::size_t cache_bytes = 128u << 20)
      : reader(the_reader),
        symbolizer(the_symbolizer),
        catalog(the_reader),
        tries(the_reader, the_symbolizer, cache_bytes) {}

  // Data was deleted: drops what was cached of it.
  void Forget() { tries.Clear(); }

  store::Reader& reader;
  symbols::Symbolizer* const symbolizer;
  Catalog catalog;
  StackTries tries;
};

}  // namespace wherefore::query
