// The ledger: how many rows each table has in each bucket, by what was inserted, deleted and
// dropped.
//
// The engine does not miss what it has lost: a part it cannot load is moved aside without a word, a
// table without its definition is a new, empty one. So the store keeps count itself and compares. A
// row that is missing is noted as lost, and stays so over restarts until somebody repairs it.
//
// File `ledger` (docs/format.md), replaced whole after every segment, before the segment goes. A
// segment that is inserted again, because the log still had it, counts once.
//
// Threads: belongs to whoever holds the store's insert mutex.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "journal/wal.h"
#include "store/engine/engine_files.h"
#include "store/engine/schema.h"
#include "store/hours/tiers.h"
#include "store/write/rows.h"

namespace wherefore::store {

using TableBucket = std::pair<Table, std::uint32_t>;
using BucketRows = std::map<TableBucket, std::uint64_t>;

class Ledger {
 public:
  // Without a file, or with a damaged one, nothing is known: the first Compare believes the engine.
  Result<> Open(const std::string& path);
  Result<> Save();

  void Add(const RowSet& rows, const journal::SegmentHeader& segment);
  void Set(TableBucket where, std::uint64_t rows);
  // Compares the rows there are with those there should be. True when something changed; rows that
  // came back are no longer lost. For buckets that a delete was working on, what is there is taken
  // as correct.
  bool Compare(const BucketRows& there, const std::set<std::uint32_t>& deleted_from);
  void ForgetLost() { lost_.clear(); }
  // Samples that retention has dropped while what was made of them stays.
  GoneSamples& gone() { return gone_; }

  [[nodiscard]] const BucketRows& rows() const { return rows_; }
  [[nodiscard]] const BucketRows& lost() const { return lost_; }
  // Where the engine keeps a table, so that it can be found again without its definition.
  std::map<std::string, std::string>& table_ids() { return table_ids_; }
  // What the engine's definitions of tables and views were when it last started.
  DefinitionHashes& definitions() { return definitions_; }

 private:
  [[nodiscard]] std::string ToText() const;
  bool Parse(const std::string& text);

  std::string path_;
  bool known_ = false;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_nonce_ = 0;
  BucketRows rows_;
  BucketRows lost_;
  GoneSamples gone_;
  std::map<std::string, std::string> table_ids_;
  DefinitionHashes definitions_;
};

}  // namespace wherefore::store
