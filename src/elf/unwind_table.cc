#include "elf/unwind_table.h"

#include <algorithm>

#include "elf/byte_reader.h"
#include "elf/module_copy.h"

namespace wherefore::elf {
namespace {

// .eh_frame and where it is mapped.
struct EhFrame {
  Data data;
  std::uint64_t address = 0;
};

Result<EhFrame> FindEhFrame(const ElfFile& file) {
  if (const Section* section = file.FindSection(".eh_frame");
      section != nullptr && section->type != SHT_NOBITS) {
    WHEREFORE_ASSIGN_OR_RETURN(Data data, file.Read(*section));
    return EhFrame{std::move(data), section->address};
  }
  if (!file.eh_frame_header()) return EhFrame{};
  const std::uint64_t header = file.eh_frame_header()->address;
  WHEREFORE_ASSIGN_OR_RETURN(const Data head, file.ReadAddress(header, 8));
  const std::uint64_t address = EhFrameAddress(header, head.bytes());
  if (address == 0) return Error(Code::kUnsupported, ".eh_frame_hdr: unknown form");
  // An entry of length 0 marks its end; the segment ends soon after.
  WHEREFORE_ASSIGN_OR_RETURN(Data data, file.ReadAddress(address, UINT32_MAX));
  return EhFrame{std::move(data), address};
}

// The search table of .eh_frame_hdr: function starts and their FDEs, sorted.
class EhFrameIndex {
 public:
  EhFrameIndex(std::uint64_t address, std::span<const std::uint8_t> header) : address_(address) {
    ByteReader reader(header);
    const auto kinds = reader.Read<std::uint32_t>();
    (void)reader.Read<std::uint32_t>();  // address of .eh_frame
    const std::uint64_t count = reader.Read<std::uint32_t>();
    // Version 1; a pointer, a count, and pairs of 32 bits relative to the header.
    if (kinds == 0x3b'03'1b'01) entries_ = reader.Take(count * sizeof(Entry));
  }

  [[nodiscard]] bool usable() const { return !entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size() / sizeof(Entry); }
  // Of one of them: where its function starts, and its FDE.
  [[nodiscard]] std::uint64_t start(std::size_t i) const { return Place(At(i).start); }
  [[nodiscard]] std::uint64_t entry(std::size_t i) const { return Place(At(i).entry); }

  // The FDE of the last function that starts at or before an address; 0 if none does.
  [[nodiscard]] std::uint64_t Find(std::uint64_t address) const {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
      const std::size_t middle = low + ((high - low) / 2);
      if (Place(At(middle).start) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? 0 : Place(At(low - 1).entry);
  }

 private:
  struct Entry {
    std::int32_t start = 0;
    std::int32_t entry = 0;
  };

  [[nodiscard]] std::uint64_t Place(std::int32_t offset) const {
    return address_ + static_cast<std::uint64_t>(std::int64_t{offset});
  }
  [[nodiscard]] Entry At(std::size_t index) const {
    return ByteReader(entries_, index * sizeof(Entry)).Read<Entry>();
  }

  std::uint64_t address_;
  std::span<const std::uint8_t> entries_;
};

bool SameRule(const UnwindRow& a, const UnwindRow& b) {
  return a.kind == b.kind && a.cfa == b.cfa && a.rbp == b.rbp;
}

// Whether the numbers fit a row.
bool FitsRow(const UnwindRule& rule) {
  const bool cfa_fits =
      rule.kind == RowKind::kPlt || rule.kind == RowKind::kExpression ||
      (rule.cfa % 8 == 0 && rule.cfa / 8 >= INT16_MIN && rule.cfa / 8 <= INT16_MAX);
  const bool rbp_fits = rule.rbp == kRbpLost ||
                        (rule.rbp % 8 == 0 && rule.rbp / 8 >= INT8_MIN && rule.rbp / 8 < kRbpLost);
  return cfa_fits && rbp_fits;
}

}  // namespace

// Functions and their rows in section order. A large program has a million rows, so they are as
// small as they will be in the table.
struct UnwindTable::Read {
  std::uint64_t base = 0;
  std::uint64_t end = 0;
  std::vector<Function> functions;
  std::vector<UnwindRow> rows;
  std::vector<WideRule> wide;

  explicit Read(const ElfFile& file)
      : base(file.base_address()), end(std::min(file.end_address(), base + UINT32_MAX)) {}

  // For all functions of a section of that size: growing would cost more than reading. What is not
  // used is never touched.
  void Reserve(std::size_t section_bytes) {
    section_bytes = std::min(section_bytes, kMostReserved);
    functions.reserve(section_bytes / kLeastFunctionBytes);
    rows.reserve(section_bytes / kUsualRowBytes);
  }

  void Add(const FunctionRange& range, const std::vector<FrameRow>& its_rows) {
    if (range.start < base || range.end > end) return;
    functions.push_back({.start = static_cast<std::uint32_t>(range.start - base),
                         .end = static_cast<std::uint32_t>(range.end - base),
                         .first_row = static_cast<std::uint32_t>(rows.size()),
                         .row_count = static_cast<std::uint32_t>(its_rows.size())});
    for (const FrameRow& row : its_rows)
      rows.push_back(Compact(static_cast<std::uint32_t>(row.address - base), row.rule));
  }

  UnwindRow Compact(std::uint32_t address, const UnwindRule& rule) {
    UnwindRow row{.address = address, .kind = rule.kind};
    if (FitsRow(rule)) {
      const bool scaled = rule.kind != RowKind::kPlt && rule.kind != RowKind::kExpression;
      row.cfa = static_cast<std::int16_t>(scaled ? rule.cfa / 8 : rule.cfa);
      row.rbp = static_cast<std::int8_t>(rule.rbp == kRbpLost ? kRbpLost : rule.rbp / 8);
    } else if (wide.size() < UINT16_MAX) {
      row.cfa = static_cast<std::int16_t>(static_cast<std::uint16_t>(wide.size()));
      row.kind = RowKind::kWide;
      wide.push_back({rule.cfa, rule.rbp, rule.kind});
    } else {
      row.kind = RowKind::kUnsupported;
    }
    return row;
  }

  void Clear() {
    functions.clear();
    rows.clear();
  }

  static constexpr std::size_t kLeastFunctionBytes = 20;
  static constexpr std::size_t kUsualRowBytes = 5;
  static constexpr std::size_t kMostReserved = std::size_t{32} << 20;
};

// The usual case, at half the cost: .eh_frame_hdr names every function once and in order, so that
// rows are appended as they are read. False when it does not.
bool UnwindTable::BuildInOrder(const ElfFile& file, std::span<const std::uint8_t> frames,
                               std::uint64_t address) {
  if (!file.eh_frame_header()) return false;
  const Segment& header = *file.eh_frame_header();
  const auto data = file.ReadAddress(header.address, header.file_size);
  if (!data) return false;
  const EhFrameIndex index(header.address, data->bytes());
  EhFrameReader reader(frames, address);
  if (!index.usable() || reader.Count() != index.size()) return false;
  Read read(file);
  base_ = read.base;
  rows_.reserve(std::min(frames.size(), Read::kMostReserved) / Read::kUsualRowBytes);
  functions_.reserve(index.size());
  std::vector<FrameRow> rows;
  FunctionRange range;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::uint64_t entry = index.entry(i);
    const std::uint64_t next = i + 1 < index.size() ? index.start(i + 1) : read.end;
    if (entry < address || !reader.At(entry - address, range, rows)) return false;
    if (range.start != index.start(i) || next <= range.start) return false;
    range.end = std::min(range.end, next);
    read.Clear();
    read.Add(range, rows);
    if (!read.functions.empty()) AppendFunction(read.functions[0], read.rows);
  }
  Finish(std::move(read.wide), reader);
  return true;
}

Result<UnwindTable> UnwindTable::Build(const ElfFile& file) {
  WHEREFORE_ASSIGN_OR_RETURN(const EhFrame frames, FindEhFrame(file));
  if (UnwindTable table; table.BuildInOrder(file, frames.data.bytes(), frames.address))
    return table;
  EhFrameReader reader(frames.data.bytes(), frames.address);
  Read read(file);
  read.Reserve(frames.data.bytes().size());
  std::vector<FrameRow> rows;
  FunctionRange range;
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool more, reader.Next(range, rows));
    if (!more) break;
    read.Add(range, rows);
  }
  UnwindTable table;
  table.Assemble(std::move(read), reader);
  return table;
}

Result<UnwindTable> UnwindTable::BuildFor(const ElfFile& file,
                                          std::span<const std::uint64_t> addresses) {
  if (!file.eh_frame_header()) return Build(file);
  const Segment& header = *file.eh_frame_header();
  WHEREFORE_ASSIGN_OR_RETURN(const Data data, file.ReadAddress(header.address, header.file_size));
  const EhFrameIndex index(header.address, data.bytes());
  if (!index.usable()) return Build(file);
  WHEREFORE_ASSIGN_OR_RETURN(const EhFrame frames, FindEhFrame(file));
  EhFrameReader reader(frames.data.bytes(), frames.address);
  Read read(file);
  std::vector<FrameRow> rows;
  FunctionRange range;
  for (const std::uint64_t address : addresses) {
    const std::uint64_t entry = index.Find(address);
    if (entry >= frames.address && reader.At(entry - frames.address, range, rows))
      read.Add(range, rows);
  }
  UnwindTable table;
  table.Assemble(std::move(read), reader);
  return table;
}

void UnwindTable::Assemble(Read read, const EhFrameReader& reader) {
  base_ = read.base;
  std::vector<Function>& functions = read.functions;
  std::ranges::stable_sort(functions, {}, &Function::start);
  rows_.reserve(read.rows.size() + functions.size() + 1);
  functions_.reserve(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (i > 0 && functions[i].start == functions[i - 1].start) continue;
    // Functions overlap only in damaged files; then the later start wins.
    auto next = i + 1;
    while (next < functions.size() && functions[next].start == functions[i].start) ++next;
    if (next < functions.size()) {
      functions[i].end = std::min(functions[i].end, functions[next].start);
    }
    AppendFunction(functions[i], read.rows);
  }
  Finish(std::move(read.wide), reader);
}

void UnwindTable::Finish(std::vector<WideRule> wide, const EhFrameReader& reader) {
  wide_ = std::move(wide);
  expressions_.assign(reader.expressions().begin(), reader.expressions().end());
  if (!functions_.empty()) Append({.address = functions_.back().end});
  IndexPages();
  if (rows_.capacity() - rows_.size() > rows_.size() / 4) rows_.shrink_to_fit();
}

void UnwindTable::AppendFunction(const Function& function, const std::vector<UnwindRow>& rows) {
  if (!functions_.empty() && functions_.back().end < function.start)
    Append({.address = functions_.back().end});
  for (std::uint32_t i = 0; i < function.row_count; ++i) {
    const UnwindRow& row = rows[function.first_row + i];
    if (row.address >= function.end) break;
    Append(row);
  }
  functions_.push_back({function.start, function.end});
}

void UnwindTable::Append(const UnwindRow& row) {
  if (rows_.empty() || !SameRule(rows_.back(), row)) rows_.push_back(row);
}

void UnwindTable::IndexPages() {
  if (rows_.empty()) return;
  const std::uint32_t count = (rows_.back().address >> kRowPageBits) + 1;
  pages_.reserve(count);
  std::uint32_t row = 0;
  for (std::uint32_t page = 0; page < count; ++page) {
    while (row + 1 < rows_.size() && rows_[row + 1].address <= page << kRowPageBits) ++row;
    pages_.push_back(row);
  }
}

std::size_t UnwindTable::memory_bytes() const {
  return rows_.capacity() * sizeof(UnwindRow) + pages_.capacity() * sizeof(std::uint32_t) +
         wide_.capacity() * sizeof(WideRule) + expressions_.capacity() * sizeof(CfaExpression) +
         functions_.capacity() * sizeof(Span32);
}

UnwindRule UnwindTable::Find(std::uint64_t address) const {
  if (address < base_ || address - base_ > UINT32_MAX) return {};
  return FindRule(rows(), static_cast<std::uint32_t>(address - base_));
}

std::optional<FunctionRange> UnwindTable::FindFunction(std::uint64_t address) const {
  if (address < base_ || address - base_ > UINT32_MAX) return std::nullopt;
  const auto offset = static_cast<std::uint32_t>(address - base_);
  auto it = std::ranges::upper_bound(functions_, offset, {}, &Span32::start);
  if (it == functions_.begin() || offset >= std::prev(it)->end) return std::nullopt;
  --it;
  return FunctionRange{base_ + it->start, base_ + it->end};
}

}  // namespace wherefore::elf
