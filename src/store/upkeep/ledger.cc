// See ledger.h.
#include "store/upkeep/ledger.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "journal/file.h"

namespace wherefore::store {
namespace {

constexpr std::string_view kFirstLine = "wherefore-ledger 1\n";

std::optional<Table> TableNamed(const std::string& name) {
  for (const TableDef& table : Tables()) {
    if (table.name == name) return table.id;
  }
  return std::nullopt;
}

std::string Checksum(std::string_view text) {
  return fmt::format("checksum {:016x}\n", Hash64(text));
}

}  // namespace

Result<> Ledger::Open(const std::string& path) {
  path_ = path;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  if (Parse(text)) {
    known_ = true;
    return {};
  }
  Log(LogLevel::kError,
      "the count of stored rows is damaged; it is made anew from what there is, so rows that were "
      "lost before now are not noticed",
      {{"file", path}});
  *this = Ledger();
  path_ = path;
  return {};
}

std::string Ledger::ToText() const {
  std::string text(kFirstLine);
  text += fmt::format("segment {} {}\n", last_number_, last_nonce_);
  for (const auto& [table, id] : table_ids_) text += fmt::format("table {} {}\n", table, id);
  for (const auto& [what, counts] : {std::pair("rows", &rows_), std::pair("lost", &lost_)}) {
    for (const auto& [where, rows] : *counts) {
      text += fmt::format("{} {} {} {}\n", what, Definition(where.first).name, where.second, rows);
    }
  }
  for (const auto& [bucket, tenant] : gone_) text += fmt::format("gone {} {}\n", bucket, tenant);
  // Last: a version that does not know these lines stops reading at them.
  for (const auto& [file, hash] : definitions_)
    text += fmt::format("definition {} {}\n", file, hash);
  return text + Checksum(text);
}

bool Ledger::Parse(const std::string& text) {
  const std::size_t end = text.rfind("checksum ");
  if (!text.starts_with(kFirstLine) || end == std::string::npos ||
      text.substr(end) != Checksum(text.substr(0, end))) {
    return false;
  }
  std::istringstream in(text.substr(kFirstLine.size(), end - kFirstLine.size()));
  for (std::string word, name; in >> word;) {
    if (word == "segment") {
      in >> last_number_ >> last_nonce_;
    } else if (word == "table") {
      std::string id;
      in >> name >> id;
      table_ids_[name] = id;
    } else if (word == "gone") {
      std::uint32_t bucket = 0;
      std::int64_t tenant = 0;
      in >> bucket >> tenant;
      gone_.emplace(bucket, tenant);
    } else if (word == "definition") {
      std::string hash;
      in >> name >> hash;
      definitions_[name] = hash;
    } else {
      std::uint32_t bucket = 0;
      std::uint64_t rows = 0;
      in >> name >> bucket >> rows;
      if (const auto table = TableNamed(name)) {
        (word == "lost" ? lost_ : rows_)[{*table, bucket}] = rows;
      }
    }
  }
  return true;
}

Result<> Ledger::Save() {
  return journal::ReplaceFile(path_, ToText());
}

void Ledger::Add(const RowSet& rows, const journal::SegmentHeader& segment) {
  if (segment.number == last_number_ && segment.nonce == last_nonce_) return;
  last_number_ = segment.number;
  last_nonce_ = segment.nonce;
  for (const Rows& table : rows.tables()) {
    for (const auto& [bucket, count] : table.CountByBucket())
      rows_[{table.table(), bucket}] += count;
  }
}

void Ledger::Set(TableBucket where, std::uint64_t rows) {
  if (rows == 0) {
    rows_.erase(where);
  } else {
    rows_[where] = rows;
  }
}

bool Ledger::Compare(const BucketRows& there, const std::set<std::uint32_t>& deleted_from) {
  if (!known_) {
    known_ = true;
    rows_ = there;
    return true;
  }
  BucketRows all = there;
  for (const auto& [where, rows] : rows_) all.try_emplace(where, 0);
  bool changed = false;
  for (const auto& [where, now] : all) {
    const auto noted = rows_.find(where);
    const std::uint64_t should = noted == rows_.end() ? 0 : noted->second;
    if (now == should) continue;
    if (deleted_from.contains(where.second)) {
      Set(where, now);
    } else if (now < should) {
      lost_[where] += should - now;
      Set(where, now);
    } else {
      // Some came back. There cannot be more than were ever inserted: then a part's count is wrong.
      const auto missing = lost_.find(where);
      if (missing == lost_.end()) continue;
      const std::uint64_t back = std::min(missing->second, now - should);
      Set(where, should + back);
      missing->second -= back;
      if (missing->second == 0) lost_.erase(missing);
    }
    changed = true;
  }
  return changed;
}

}  // namespace wherefore::store
