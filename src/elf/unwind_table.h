// UnwindTable: .eh_frame compiled into sorted rows of 8 bytes, for fast unwinding.
//
// Built once per module by an ordinary thread (libc: 28,000 rows in about 2 ms). After that it is
// const, and rows() may be read from any thread and from signal handlers. It copies what it needs:
// the file or module may go away. A module without .eh_frame gives a table without rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "elf/eh_frame.h"
#include "elf/elf_file.h"
#include "elf/unwind_rows.h"

namespace wherefore::elf {

class UnwindTable {
 public:
  // Fails if .eh_frame cannot be read or needs more work than its size justifies.
  static Result<UnwindTable> Build(const ElfFile& file);
  // Only the functions that contain these virtual addresses, found through .eh_frame_hdr's search
  // table: takes microseconds. Builds everything if the file has no such table.
  static Result<UnwindTable> BuildFor(const ElfFile& file,
                                      std::span<const std::uint64_t> addresses);

  [[nodiscard]] UnwindRows rows() const {
    return {.rows = rows_.data(),
            .pages = pages_.data(),
            .wide = wide_.data(),
            .expressions = expressions_.data(),
            .row_count = static_cast<std::uint32_t>(rows_.size()),
            .page_count = static_cast<std::uint32_t>(pages_.size())};
  }
  // Row addresses are relative to this.
  [[nodiscard]] std::uint64_t base_address() const { return base_; }
  [[nodiscard]] std::size_t function_count() const { return functions_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const;

  // The rule at a virtual address of the file.
  [[nodiscard]] UnwindRule Find(std::uint64_t address) const;
  // The function that contains a virtual address, by its FDE.
  [[nodiscard]] std::optional<FunctionRange> FindFunction(std::uint64_t address) const;

 private:
  struct Function {
    std::uint32_t start = 0;
    std::uint32_t end = 0;
    std::uint32_t first_row = 0;  // index in read order
    std::uint32_t row_count = 0;
  };
  struct Span32 {
    std::uint32_t start = 0;
    std::uint32_t end = 0;
  };

  struct Read;

  bool BuildInOrder(const ElfFile& file, std::span<const std::uint8_t> frames,
                    std::uint64_t address);
  void Assemble(Read read, const EhFrameReader& reader);
  void Finish(std::vector<WideRule> wide, const EhFrameReader& reader);
  void Append(const UnwindRow& row);
  void AppendFunction(const Function& function, const std::vector<UnwindRow>& rows);
  void IndexPages();

  std::uint64_t base_ = 0;
  std::vector<UnwindRow> rows_;
  std::vector<std::uint32_t> pages_;
  std::vector<WideRule> wide_;
  std::vector<CfaExpression> expressions_;
  std::vector<Span32> functions_;  // sorted, disjoint
};

}  // namespace wherefore::elf
