// What a statement that somebody typed may do: read the views that are meant for people, with
// functions that compute and nothing else. No other table, no table function, no setting, no file
// and no address.
//
// Judged by the engine's own reading of the statement (EXPLAIN AST), against lists of what is
// allowed: what is not known is refused. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

class SqlGuard {
 public:
  SqlGuard(Transport& transport, std::set<std::string> views)
      : transport_(transport), views_(std::move(views)) {}

  // kInvalid with a sentence; `statement` is of OneStatement().
  Result<> Check(std::string_view statement, const QueryLimits& limits, const CancelToken& cancel)
      EXCLUDES(mutex_);

 private:
  struct Known {
    std::set<std::string> functions;   // lower case where the engine does not care
    std::set<std::string> aggregates;  // without suffixes such as If
    std::set<std::string> tables;      // "table" of our database, "database.table" of all
    std::set<std::string> databases;
  };
  Result<Known> Learn(const QueryLimits& limits, const CancelToken& cancel);

  Transport& transport_;
  const std::set<std::string> views_;
  Mutex mutex_;
  bool learned_ GUARDED_BY(mutex_) = false;
  Known known_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::store
