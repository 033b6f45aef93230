// What a statement that somebody typed may do: read the views that are meant for people, with
// functions that compute and nothing else. No other table, no table function, no setting, no file
// and no address.
//
// Judged by the engine's own reading of the statement (EXPLAIN AST), against lists of what is
// allowed: what is not known is refused. Any thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/engine/transport.h"
#include "store/sql/views.h"

namespace wherefore::store {

class SqlGuard {
 public:
  SqlGuard(Transport& transport, std::set<std::string> views)
      : transport_(transport), views_(std::move(views)) {}

  // What the statement names; kInvalid with a sentence if it may not run. `statement` is of
  // OneStatement().
  Result<SqlNames> Check(std::string_view statement, const QueryLimits& limits,
                         const CancelToken& cancel) EXCLUDES(mutex_);

  // What the engine knows by name; it stays the same while the program runs.
  struct Known {
    std::set<std::string, std::less<>> functions;   // lower case where the engine does not care
    std::set<std::string, std::less<>> aggregates;  // without suffixes such as If
    std::set<std::string, std::less<>> tables;      // "table" of our database, "database.table"
  };

 private:
  Result<std::shared_ptr<const Known>> WhatIsKnown(const QueryLimits& limits,
                                                   const CancelToken& cancel) EXCLUDES(mutex_);
  Result<Known> Learn(const QueryLimits& limits, const CancelToken& cancel);

  Transport& transport_;
  const std::set<std::string> views_;
  Mutex mutex_;
  std::shared_ptr<const Known> known_ GUARDED_BY(mutex_);  // null: not learned yet
};

// What the engine says of a person's statement, as a sentence: without the text that stands around
// the statement. kInvalid where it is the statement's fault.
[[nodiscard]] Error StatementError(const Error& engine_error);

}  // namespace wherefore::store
