// Rows: what goes into one table, as columns; in memory, in the log, and (expanded) in the engine's
// Native format.
//
// Columns that repeat (bucket, service, time ...) are kept as runs, so that a sample costs 12 bytes
// in the log instead of 60. All forms can be joined by appending bytes, which is how the groups of
// a segment become one insert.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/engine/schema.h"

namespace wherefore::store {

struct Column {
  std::string data;
  std::string sizes;  // arrays: u32 elements of each row
};

class Rows {
 public:
  explicit Rows(Table table);

  [[nodiscard]] Table table() const { return table_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  [[nodiscard]] bool empty() const { return rows_ == 0; }
  [[nodiscard]] std::size_t ByteSize() const;

  // Appends one row, column by column in the table's order; destroying it without having filled
  // every column is our mistake and stops the process.
  class Row {
   public:
    explicit Row(Rows& rows) : rows_(rows) { ++rows_.rows_; }
    Row(Rows& rows, std::uint32_t bucket, std::uint32_t tenant) : Row(rows) {
      Put(bucket).Put(tenant);
    }
    Row(Rows& rows, std::uint32_t bucket, std::uint32_t tenant, std::uint64_t service)
        : Row(rows, bucket, tenant) {
      Put(service);
    }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    ~Row();
    Row& Put(std::uint64_t value);  // number of any width, plain or run
    Row& Put(std::int64_t value) { return Put(static_cast<std::uint64_t>(value)); }
    Row& Put(std::uint32_t value) { return Put(std::uint64_t{value}); }
    Row& Bytes(std::span<const std::uint8_t> bytes);
    Row& Text(std::string_view text);
    Row& Array(std::span<const std::uint32_t> items) {
      return RawArray(items.data(), items.size());
    }
    Row& Array(std::span<const std::uint64_t> items) {
      return RawArray(items.data(), items.size());
    }
    Row& Array(std::span<const std::int64_t> items) { return RawArray(items.data(), items.size()); }
    Row& Texts(std::span<const std::string_view> items);

   private:
    Row& RawArray(const void* items, std::size_t count);
    Rows& rows_;
    std::size_t column_ = 0;
  };
  Row Add() { return Row(*this); }
  // Every table begins with bucket and tenant, most go on with the service.
  Row Begin(std::uint32_t bucket, std::uint32_t tenant) { return Row(*this, bucket, tenant); }
  Row Begin(std::uint32_t bucket, std::uint32_t tenant, std::uint64_t service) {
    return Row(*this, bucket, tenant, service);
  }

  // For many rows at once: fill columns directly, then say how many rows came.
  void PutRun(std::size_t column, std::uint64_t value, std::uint32_t count);
  template <typename T>
  void PutFixed(std::size_t column, T value) {
    columns_[column].data.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void Added(std::size_t rows) { rows_ += rows; }

  void Append(const Rows& other);
  void Clear();
  // How many rows make a block that the engine takes without much memory. Depends on the rows
  // alone.
  [[nodiscard]] std::size_t RowsOfABlock() const;
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> CountByBucket() const;

  // The form in the log (docs/format.md, "Row sets").
  void Serialize(std::string& out) const;

 private:
  friend class RowSet;
  friend class NativeCutter;
  Table table_;
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<std::size_t> last_run_;  // where in data the last run of a column starts
};

// Rows of every table.
class RowSet {
 public:
  RowSet();
  Rows& operator[](Table table) { return tables_[static_cast<std::size_t>(table)]; }
  const Rows& operator[](Table table) const { return tables_[static_cast<std::size_t>(table)]; }
  [[nodiscard]] std::span<const Rows> tables() const { return tables_; }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t ByteSize() const;
  void Append(const RowSet& other);
  void Clear();
  // Keeps names (dictionaries), drops measurements.
  void ClearMeasurements();

  void Serialize(std::string& out) const;
  // Adds serialized rows to these. Every length and count is checked; after an error nothing was
  // added.
  [[nodiscard]] Result<> ParseAndAppend(std::string_view bytes);

 private:
  std::vector<Rows> tables_;
};

// Cuts Rows into Native blocks of bounded size: at most `max_rows` rows and 50 buckets each, always
// the same cuts for the same rows (the tokens of inserts rely on it). Rows of more buckets than
// that are taken 50 buckets at a time, however they alternate: every bucket of a block becomes a
// part.
class NativeCutter {
 public:
  explicit NativeCutter(const Rows& rows) : NativeCutter(rows, rows.RowsOfABlock()) {}
  NativeCutter(const Rows& rows, std::size_t max_rows);
  // Fills `block` with the next rows; false when there are none left.
  bool Next(std::string& block, std::size_t& rows);
  // Name of the block that Next gave: with the table's name it identifies the insert.
  [[nodiscard]] std::string name() const;

 private:
  struct Cursor {
    std::size_t data = 0;
    std::size_t sizes = 0;
    std::uint32_t run_used = 0;
  };
  // Consecutive rows that all go into this block, or all into another one.
  struct Stretch {
    std::size_t rows = 0;
    bool taken = false;
  };
  std::vector<Stretch> Cut(std::size_t& taken) const;
  void PutColumn(std::string& out, std::size_t index, const std::vector<Stretch>& stretches);
  static void PutRuns(std::string& out, const std::string& data, Cursor& cursor, std::size_t width,
                      const Stretch& stretch);

  const Rows& rows_;
  std::size_t max_rows_;
  std::unordered_map<std::uint64_t, std::size_t> group_of_;  // by bucket
  std::size_t groups_ = 0;
  std::size_t group_ = 0;  // whose rows come next
  int blocks_ = 0;
  std::vector<Cursor> cursors_;
};

void AppendVarint(std::string& out, std::uint64_t value);

}  // namespace wherefore::store
