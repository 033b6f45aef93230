// SQL for people: one statement over the views of views.h, and nothing else (docs/sql.md).
//
// A statement is read by us (statement.h), judged by the engine's reading of it (guard.h), and run
// in parentheses, after the definitions of the views it names, as read-only, within time and
// memory, one at a time. A statement that the engine cannot stop does not keep who asked
// (Transport::QueryForPerson).
//
// Threads: any. Failures: kInvalid with a sentence where the statement is at fault, kLimit where it
// wants too much.
#pragma once

#include "base/cancel.h"
#include "base/result.h"
#include "store/engine/transport.h"
#include "store/sql/guard.h"
#include "store/sql/question.h"

namespace wherefore::store {

class PeopleSql {
 public:
  PeopleSql(Transport& transport, QueryLimits limits)
      : transport_(transport), limits_(limits), guard_(transport, ViewNames()) {}

  Result<SqlAnswer> Ask(const SqlQuestion& question, const CancelToken& cancel);

 private:
  Result<SqlMeanings> Meanings(const SqlQuestion& question, const CancelToken& cancel);

  Transport& transport_;
  const QueryLimits limits_;
  SqlGuard guard_;
};

}  // namespace wherefore::store
