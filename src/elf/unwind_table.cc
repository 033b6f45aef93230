#include "elf/unwind_table.h"

#include <algorithm>

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
  if (address == 0) return Error(Code::kUnsupported, ".eh_frame_hdr: of an unknown kind");
  // Its end is marked by an entry of length 0; the segment ends not much later.
  WHEREFORE_ASSIGN_OR_RETURN(Data data, file.ReadAddress(address, UINT32_MAX));
  return EhFrame{std::move(data), address};
}

bool SameRule(const UnwindRow& a, const UnwindRow& b) {
  return a.kind == b.kind && a.cfa == b.cfa && a.rbp == b.rbp;
}

// False when the numbers do not fit into a row.
bool FitsRow(const UnwindRule& rule) {
  const bool cfa_fits =
      rule.kind == RowKind::kPlt ||
      (rule.cfa % 8 == 0 && rule.cfa / 8 >= INT16_MIN && rule.cfa / 8 <= INT16_MAX);
  const bool rbp_fits = rule.rbp == kRbpLost ||
                        (rule.rbp % 8 == 0 && rule.rbp / 8 >= INT8_MIN && rule.rbp / 8 < kRbpLost);
  return cfa_fits && rbp_fits;
}

}  // namespace

Result<UnwindTable> UnwindTable::Build(const ElfFile& file) {
  UnwindTable table;
  table.base_ = file.base_address();
  WHEREFORE_ASSIGN_OR_RETURN(const EhFrame frames, FindEhFrame(file));
  EhFrameReader reader(frames.data.bytes(), frames.address);
  std::vector<Function> functions;
  std::vector<FrameRow> all_rows;
  std::vector<FrameRow> rows;
  const std::uint64_t end = std::min(file.end_address(), table.base_ + UINT32_MAX);
  FunctionRange range;
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool more, reader.Next(range, rows));
    if (!more) break;
    if (range.start < table.base_ || range.end > end) continue;
    functions.push_back({.start = static_cast<std::uint32_t>(range.start - table.base_),
                         .end = static_cast<std::uint32_t>(range.end - table.base_),
                         .first_row = static_cast<std::uint32_t>(all_rows.size()),
                         .row_count = static_cast<std::uint32_t>(rows.size())});
    all_rows.insert(all_rows.end(), rows.begin(), rows.end());
  }
  std::ranges::stable_sort(functions, {}, &Function::start);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (i > 0 && functions[i].start == functions[i - 1].start) continue;
    // Where functions overlap, which only damaged files do, the later start wins.
    auto next = i + 1;
    while (next < functions.size() && functions[next].start == functions[i].start) ++next;
    if (next < functions.size()) {
      functions[i].end = std::min(functions[i].end, functions[next].start);
    }
    table.AppendFunction(functions[i], all_rows);
  }
  if (!table.functions_.empty()) table.Append(table.functions_.back().end, {});
  table.IndexPages();
  table.rows_.shrink_to_fit();
  table.functions_.shrink_to_fit();
  return table;
}

void UnwindTable::AppendFunction(const Function& function, const std::vector<FrameRow>& rows) {
  if (!functions_.empty() && functions_.back().end < function.start) {
    Append(functions_.back().end, {});
  }
  for (std::uint32_t i = 0; i < function.row_count; ++i) {
    const FrameRow& row = rows[function.first_row + i];
    if (row.address - base_ >= function.end) break;
    Append(static_cast<std::uint32_t>(row.address - base_), row.rule);
  }
  functions_.push_back({function.start, function.end});
}

void UnwindTable::Append(std::uint32_t address, const UnwindRule& rule) {
  UnwindRow row{.address = address, .kind = rule.kind};
  if (FitsRow(rule)) {
    row.cfa = static_cast<std::int16_t>(rule.kind == RowKind::kPlt ? rule.cfa : rule.cfa / 8);
    row.rbp = static_cast<std::int8_t>(rule.rbp == kRbpLost ? kRbpLost : rule.rbp / 8);
  } else if (wide_.size() < UINT16_MAX) {
    row.cfa = static_cast<std::int16_t>(static_cast<std::uint16_t>(wide_.size()));
    row.kind = RowKind::kWide;
    wide_.push_back({rule.cfa, rule.rbp, rule.kind});
  } else {
    row.kind = RowKind::kUnsupported;
  }
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
         wide_.capacity() * sizeof(WideRule) + functions_.capacity() * sizeof(Span32);
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
