// Transport: how SQL and rows reach ClickHouse. Embedded today (embedded_transport.h), a cluster
// over HTTP later; neither changes a statement.
//
// Settings, tokens and limits are arguments, never text of a statement. Results and inserts travel
// in the engine's Native format (native.h, rows.h). Literals in a statement come from Quote().
//
// Threads: any. Queries run side by side up to the transport's pool; Execute and Insert wait for
// each other, and never for queries but where something has to be mended first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"

namespace wherefore::store {

using Settings = std::vector<std::pair<std::string, std::string>>;  // values are literals

struct QueryLimits {
  std::int64_t timeout_ns = 0;    // 0: none
  std::int64_t memory_bytes = 0;  // 0: none
  std::int64_t answer_bytes = 0;  // 0: as much as memory
};

// 26.7 as 26007, so that features can be compared.
using ServerVersion = int;
inline constexpr ServerVersion kHasCodecs = 20'003;
inline constexpr ServerVersion kHasInsertTokens = 22'002;
inline constexpr ServerVersion kHasSmallPartsHeuristic = 25'001;

// A file of rows, "20261118_1_3_1" of the table "samples_v1": its name begins with the bucket.
struct BrokenPart {
  std::string table;
  std::string part;
  auto operator<=>(const BrokenPart&) const = default;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Runs a SELECT on a reading connection; the answer is Native blocks. kCancelled soon after
  // `cancel` fires.
  virtual Result<std::string> Query(std::string_view sql, const QueryLimits& limits,
                                    const CancelToken& cancel) = 0;
  // How the engine reads a statement, which is not run: the lines of EXPLAIN AST, as Native blocks.
  virtual Result<std::string> ReadStatement(std::string_view /*sql*/,
                                            const CancelToken& /*cancel*/) {
    return Error(Code::kUnsupported, "there is no engine for statements here");
  }
  // Runs a statement that a person wrote, judged already (sql/guard.h); the answer is in one of the
  // engine's formats (JSONCompactEachRow, CSVWithNames, Parquet). One at a time. Some statements
  // cannot be stopped: one that has not ended soon after its time is left behind, with its
  // connection, and until it ends others are kUnavailable.
  virtual Result<std::string> QueryForPerson(std::string_view /*sql*/, std::string_view /*format*/,
                                             const Settings& /*settings*/,
                                             const QueryLimits& /*limits*/,
                                             const CancelToken& /*cancel*/) {
    return Error(Code::kUnsupported, "there is no engine for statements here");
  }
  // Runs a statement that changes something.
  virtual Result<> Execute(std::string_view sql, const Settings& settings = {}) = 0;
  // Inserts one Native block. The same token with the same bytes counts once, however often it is
  // sent; never use a token for other bytes.
  virtual Result<> Insert(std::string_view table, std::string_view native_block,
                          std::string_view token) = 0;
  // Mends what the engine could not write, in inserts or in what it did by itself; nothing to do:
  // no cost. Before every insert, and from time to time where none comes.
  virtual Result<> Mend() { return {}; }
  // Called, from whatever thread asked, when a part that cannot be read was set aside so that the
  // rest answers, and before it does. Set before the first query.
  virtual void OnSetAside(const std::function<void(const BrokenPart& part)>& /*noticed*/) {}
  // Looks through a table for parts that cannot be read, which takes long, and sets them aside.
  virtual void CheckParts(const std::string& /*table*/) {}
  [[nodiscard]] virtual ServerVersion version() const = 0;
};

// A string literal for a statement.
[[nodiscard]] std::string Quote(std::string_view text);
// A FixedString literal of these bytes.
[[nodiscard]] std::string QuoteBytes(std::string_view bytes);
// Does this engine message say that one query needed more memory, or gave more bytes, than it may?
[[nodiscard]] bool IsOverQueryMemory(std::string_view message);
// In the engine's message about an answer of more rows or bytes than it may have.
inline constexpr std::string_view kTooLongAnAnswer = "Limit for result exceeded";
// Does it say that there is no such table?
[[nodiscard]] bool IsUnknownTable(std::string_view message);
// Does it say that a table which was detached is not free yet?
[[nodiscard]] bool IsStillUsed(std::string_view message);
// Does it say that something on the disk cannot be right? It may still be for another reason.
[[nodiscard]] bool MayBeDamage(std::string_view message);
// The code of our Error for an engine message "Code: 243. DB::Exception: ...".
[[nodiscard]] Error EngineError(std::string_view message);

}  // namespace wherefore::store
