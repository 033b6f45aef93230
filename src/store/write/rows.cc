// See rows.h.
#include "store/write/rows.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/check.h"
#include "base/raw_bytes.h"

namespace wherefore::store {
namespace {

constexpr std::size_t kRunBytes = 12;  // u32 count, u64 value
constexpr std::size_t kMaxBuckets = 50;

// Length of the varint-prefixed text at `at`, prefix included; 0 when it does not fit.
std::size_t TextLength(std::string_view data, std::size_t at) {
  std::uint64_t size = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const std::size_t i = at + static_cast<std::size_t>(shift / 7);
    if (i >= data.size()) return 0;
    const auto byte = static_cast<std::uint8_t>(data[i]);
    size |= std::uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) {
      const std::size_t prefix = i + 1 - at;
      return size <= data.size() - i - 1 ? prefix + size : 0;
    }
  }
  return 0;
}

bool TextsFit(std::string_view data, std::uint64_t count) {
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t length = TextLength(data, at);
    if (length == 0) return false;
    at += length;
  }
  return at == data.size();
}

// Do these bytes hold exactly `rows` values of this column?
bool ColumnFits(const ColumnDef& def, std::string_view data, std::string_view sizes,
                std::uint64_t rows) {
  const bool is_array = def.layout == Layout::kArray || def.layout == Layout::kTextArray;
  if (sizes.size() != (is_array ? rows * 4 : 0)) return false;
  std::uint64_t elements = 0;
  for (std::size_t at = 0; at < sizes.size(); at += 4) {
    std::uint32_t size = 0;
    std::memcpy(&size, sizes.data() + at, 4);
    elements += size;
  }
  switch (def.layout) {
    case Layout::kFixed:
      return data.size() == rows * def.width;
    case Layout::kText:
      return TextsFit(data, rows);
    case Layout::kArray:
      return data.size() == elements * def.width;
    case Layout::kTextArray:
      return TextsFit(data, elements);
    case Layout::kRuns:
      break;
  }
  if (data.size() % kRunBytes != 0) return false;
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < data.size(); at += kRunBytes) {
    std::uint32_t count = 0;
    std::memcpy(&count, data.data() + at, 4);
    if (count == 0) return false;
    total += count;
  }
  return total == rows;
}

}  // namespace

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

Rows::Rows(Table table)
    : table_(table), columns_(Definition(table).columns.size()), last_run_(columns_.size()) {}

std::size_t Rows::ByteSize() const {
  std::size_t bytes = 0;
  for (const Column& column : columns_) bytes += column.data.size() + column.sizes.size();
  return bytes;
}

std::size_t Rows::RowsOfABlock() const {
  constexpr std::size_t kBlockBytes = 16u << 20;  // the engine uses several times as much
  constexpr std::size_t kLeast = 1000;
  constexpr std::size_t kMost = 1'000'000;
  std::size_t bytes = 0;
  const auto columns = Definition(table_).columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    bytes += columns[i].layout == Layout::kRuns
                 ? rows_ * columns[i].width
                 : columns_[i].data.size() + 2 * columns_[i].sizes.size();
  }
  return bytes == 0 ? kMost : std::clamp(kBlockBytes * rows_ / bytes, kLeast, kMost);
}

void Rows::PutRun(std::size_t column, std::uint64_t value, std::uint32_t count) {
  if (count == 0) return;
  std::string& data = columns_[column].data;
  const std::size_t last = last_run_[column];
  if (!data.empty() && Load<std::uint64_t>(data, last + 4) == value) {
    const auto before = Load<std::uint32_t>(data, last);
    if (before <= UINT32_MAX - count) {
      const std::uint32_t sum = before + count;
      std::memcpy(data.data() + last, &sum, 4);
      return;
    }
  }
  last_run_[column] = data.size();
  AppendRaw(data, count);
  AppendRaw(data, value);
}

std::map<std::uint32_t, std::uint64_t> Rows::CountByBucket() const {
  std::map<std::uint32_t, std::uint64_t> counts;
  const std::string& data = columns_[0].data;  // every table begins with its bucket
  for (std::size_t at = 0; at + kRunBytes <= data.size(); at += kRunBytes) {
    counts[static_cast<std::uint32_t>(Load<std::uint64_t>(data, at + 4))] +=
        Load<std::uint32_t>(data, at);
  }
  return counts;
}

Rows::Row& Rows::Row::Put(std::uint64_t value) {
  const ColumnDef& def = Definition(rows_.table_).columns[column_];
  if (def.layout == Layout::kRuns) {
    rows_.PutRun(column_, value, 1);
  } else {
    WHEREFORE_CHECK(def.layout == Layout::kFixed && def.width <= 8);
    // Little endian: the low bytes come first.
    rows_.columns_[column_].data.append(reinterpret_cast<const char*>(&value), def.width);
  }
  ++column_;
  return *this;
}
Rows::Row& Rows::Row::Bytes(std::span<const std::uint8_t> bytes) {
  WHEREFORE_CHECK(Definition(rows_.table_).columns[column_].width == bytes.size());
  rows_.columns_[column_++].data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return *this;
}
Rows::Row& Rows::Row::Text(std::string_view text) {
  WHEREFORE_CHECK(Definition(rows_.table_).columns[column_].layout == Layout::kText);
  std::string& data = rows_.columns_[column_++].data;
  AppendVarint(data, text.size());
  data += text;
  return *this;
}
Rows::Row& Rows::Row::RawArray(const void* items, std::size_t count) {
  const ColumnDef& def = Definition(rows_.table_).columns[column_];
  WHEREFORE_CHECK(def.layout == Layout::kArray);
  Column& column = rows_.columns_[column_++];
  AppendRaw(column.sizes, static_cast<std::uint32_t>(count));
  column.data.append(static_cast<const char*>(items), count * def.width);
  return *this;
}
Rows::Row& Rows::Row::Texts(std::span<const std::string_view> items) {
  WHEREFORE_CHECK(Definition(rows_.table_).columns[column_].layout == Layout::kTextArray);
  Column& column = rows_.columns_[column_++];
  AppendRaw(column.sizes, static_cast<std::uint32_t>(items.size()));
  for (const std::string_view text : items) {
    AppendVarint(column.data, text.size());
    column.data += text;
  }
  return *this;
}
Rows::Row::~Row() {
  // Without memory a column may throw; whoever catches that throws the rows away.
  WHEREFORE_CHECK(column_ == rows_.columns_.size() || std::uncaught_exceptions() > 0);
}

void Rows::Append(const Rows& other) {
  rows_ += other.rows_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!other.columns_[i].data.empty()) {
      last_run_[i] = columns_[i].data.size() + other.last_run_[i];
    }
    columns_[i].data += other.columns_[i].data;
    columns_[i].sizes += other.columns_[i].sizes;
  }
}

void Rows::Clear() {
  rows_ = 0;
  // One large request must not keep its memory.
  constexpr std::size_t kKept = 1u << 20;
  for (Column& column : columns_) {
    for (std::string* bytes : {&column.data, &column.sizes}) {
      bytes->clear();
      if (bytes->capacity() > kKept) bytes->shrink_to_fit();
    }
  }
  std::ranges::fill(last_run_, 0);
}

void Rows::Serialize(std::string& out) const {
  AppendRaw(out, static_cast<std::uint8_t>(table_));
  AppendRaw(out, static_cast<std::uint8_t>(columns_.size()));
  AppendRaw(out, std::uint64_t{rows_});
  for (const Column& column : columns_) {
    AppendRaw(out, std::uint64_t{column.data.size()});
    AppendRaw(out, std::uint64_t{column.sizes.size()});
    out += column.data;
    out += column.sizes;
  }
}

RowSet::RowSet() {
  tables_.reserve(kTableCount);
  for (const TableDef& table : Tables()) tables_.emplace_back(table.id);
}
bool RowSet::empty() const {
  return std::ranges::all_of(tables_, [](const Rows& rows) { return rows.empty(); });
}
std::size_t RowSet::ByteSize() const {
  std::size_t bytes = 0;
  for (const Rows& rows : tables_) bytes += rows.ByteSize();
  return bytes;
}
void RowSet::Append(const RowSet& other) {
  for (std::size_t i = 0; i < kTableCount; ++i) tables_[i].Append(other.tables_[i]);
}
void RowSet::Clear() {
  for (Rows& rows : tables_) rows.Clear();
}
void RowSet::ClearMeasurements() {
  for (Rows& rows : tables_) {
    if (!Definition(rows.table()).is_dictionary) rows.Clear();
  }
}

void RowSet::Serialize(std::string& out) const {
  for (const Rows& rows : tables_) {
    if (!rows.empty()) rows.Serialize(out);
  }
}

Result<> RowSet::ParseAndAppend(std::string_view bytes) {
  struct Part {
    std::size_t table;
    std::uint64_t rows;
    std::vector<std::pair<std::string_view, std::string_view>> columns;
  };
  const auto bad = [](std::string_view what) {
    return Error(Code::kCorrupt, fmt::format("row set: {}", what));
  };
  const auto take = [&bytes]<typename T>(T& value) {
    if (bytes.size() < sizeof(T)) return false;
    bytes.copy(reinterpret_cast<char*>(&value), sizeof(T));
    bytes.remove_prefix(sizeof(T));
    return true;
  };
  std::vector<Part> parts;
  while (!bytes.empty()) {
    std::uint8_t table = 0;
    std::uint8_t columns = 0;
    Part part{};
    if (!take(table) || !take(columns) || !take(part.rows)) return bad("truncated header");
    if (table >= kTableCount) return bad(fmt::format("unknown table {}", table));
    const TableDef& def = Tables()[table];
    if (columns != def.columns.size())
      return bad(fmt::format("{} has {} columns", def.name, columns));
    if (part.rows > (std::uint64_t{1} << 40)) return bad("row count");
    part.table = table;
    for (const ColumnDef& column : def.columns) {
      std::uint64_t data = 0;
      std::uint64_t sizes = 0;
      if (!take(data) || !take(sizes) || data > bytes.size() || sizes > bytes.size() - data) {
        return bad(fmt::format("{}.{} is truncated", def.name, column.name));
      }
      part.columns.emplace_back(bytes.substr(0, data), bytes.substr(data, sizes));
      if (!ColumnFits(column, part.columns.back().first, part.columns.back().second, part.rows)) {
        return bad(fmt::format("{}.{} does not hold {} rows", def.name, column.name, part.rows));
      }
      bytes.remove_prefix(data + sizes);
    }
    parts.push_back(std::move(part));
  }
  for (const Part& part : parts) {
    Rows& rows = tables_[part.table];
    rows.rows_ += part.rows;
    for (std::size_t i = 0; i < part.columns.size(); ++i) {
      const auto& [data, sizes] = part.columns[i];
      // Runs are not joined across groups here: the cuts below depend on rows only, not on runs.
      if (data.size() >= kRunBytes)
        rows.last_run_[i] = rows.columns_[i].data.size() + data.size() - kRunBytes;
      rows.columns_[i].data += data;
      rows.columns_[i].sizes += sizes;
    }
  }
  return {};
}

NativeCutter::NativeCutter(const Rows& rows, std::size_t max_rows)
    : rows_(rows), max_rows_(max_rows), cursors_(rows.columns_.size()) {
  // `bucket` is the first column of every table and a run column.
  const std::string& runs = rows_.columns_[0].data;
  for (std::size_t at = 0; at < runs.size(); at += kRunBytes) {
    group_of_.try_emplace(Load<std::uint64_t>(runs, at + 4), group_of_.size() / kMaxBuckets);
  }
  groups_ = (group_of_.size() + kMaxBuckets - 1) / kMaxBuckets;
}

std::string NativeCutter::name() const {
  // Up to 50 buckets blocks are cut as they always were, and named so.
  return groups_ == 1 ? fmt::format("{}", blocks_ - 1)
                      : fmt::format("{}of{}", blocks_ - 1, groups_);
}

std::vector<NativeCutter::Stretch> NativeCutter::Cut(std::size_t& taken) const {
  const std::string& runs = rows_.columns_[0].data;
  std::vector<Stretch> stretches;
  taken = 0;
  std::size_t used = cursors_[0].run_used;
  for (std::size_t at = cursors_[0].data; at < runs.size() && taken < max_rows_; at += kRunBytes) {
    const bool take = group_of_.at(Load<std::uint64_t>(runs, at + 4)) == group_;
    std::size_t count = Load<std::uint32_t>(runs, at) - used;
    used = 0;
    if (take) {
      count = std::min(count, max_rows_ - taken);
      taken += count;
    }
    if (stretches.empty() || stretches.back().taken != take) stretches.push_back({0, take});
    stretches.back().rows += count;
  }
  return stretches;
}

bool NativeCutter::Next(std::string& block, std::size_t& rows) {
  block.clear();
  std::vector<Stretch> stretches = Cut(rows);
  while (rows == 0) {
    if (++group_ >= groups_) return false;
    cursors_.assign(cursors_.size(), {});
    stretches = Cut(rows);
  }
  ++blocks_;
  const auto columns = Definition(rows_.table_).columns;
  AppendVarint(block, columns.size());
  AppendVarint(block, rows);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    AppendVarint(block, columns[i].name.size());
    block += columns[i].name;
    AppendVarint(block, columns[i].type.size());
    block += columns[i].type;
    PutColumn(block, i, stretches);
  }
  return true;
}

void NativeCutter::PutColumn(std::string& out, std::size_t index,
                             const std::vector<Stretch>& stretches) {
  const ColumnDef& def = Definition(rows_.table_).columns[index];
  const Column& column = rows_.columns_[index];
  Cursor& cursor = cursors_[index];
  if (def.layout == Layout::kRuns) {
    for (const Stretch& stretch : stretches) PutRuns(out, column.data, cursor, def.width, stretch);
    return;
  }
  std::vector<std::uint64_t> elements;  // of each stretch
  std::uint64_t total = 0;
  for (const Stretch& stretch : stretches) {
    elements.push_back(stretch.rows);
    if (def.layout != Layout::kArray && def.layout != Layout::kTextArray) continue;
    elements.back() = 0;
    for (std::size_t i = 0; i < stretch.rows; ++i) {
      elements.back() += Load<std::uint32_t>(column.sizes, cursor.sizes);
      cursor.sizes += 4;
      if (stretch.taken)
        AppendRaw(out, total + elements.back());  // the engine wants running totals
    }
    if (stretch.taken) total += elements.back();
  }
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    std::size_t bytes = elements[s] * def.width;
    if (def.layout == Layout::kText || def.layout == Layout::kTextArray) {
      bytes = 0;
      for (std::uint64_t i = 0; i < elements[s]; ++i)
        bytes += TextLength(column.data, cursor.data + bytes);
    }
    if (stretches[s].taken) out.append(column.data, cursor.data, bytes);
    cursor.data += bytes;
  }
}

void NativeCutter::PutRuns(std::string& out, const std::string& data, Cursor& cursor,
                           std::size_t width, const Stretch& stretch) {
  const auto fill = [&]<typename T>(T value, std::size_t count) {
    const std::size_t at = out.size();
    out.resize(at + count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(out.data() + at + i * sizeof(T), &value, sizeof(T));
  };
  for (std::size_t rows = stretch.rows; rows > 0;) {
    const auto in_run = Load<std::uint32_t>(data, cursor.data) - cursor.run_used;
    const auto value = Load<std::uint64_t>(data, cursor.data + 4);
    const std::size_t count = std::min<std::size_t>(in_run, rows);
    if (stretch.taken && width == 8) {
      fill(value, count);
    } else if (stretch.taken) {
      fill(static_cast<std::uint32_t>(value), count);
    }
    rows -= count;
    cursor.run_used += static_cast<std::uint32_t>(count);
    if (count == in_run) {
      cursor.data += kRunBytes;
      cursor.run_used = 0;
    }
  }
}

}  // namespace wherefore::store
