// Any bytes as an ELF file: no crash, no overrun. Reads all of whatever opens, and looks up every
// address its tables name.
#include <cstdint>
#include <span>

#include "elf/elf_file.h"
#include "elf/symbols.h"
#include "elf/unwind_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::elf;
  const auto file = ElfFile::FromBytes(std::span(data, size));
  if (!file) return 0;
  for (const Section& section : file->sections()) (void)file->Read(section);
  for (const Segment& segment : file->segments()) {
    (void)file->AddressOfOffset(segment.offset);
    (void)file->OffsetOfAddress(segment.address);
    (void)file->ReadAddress(segment.address + segment.file_size / 2, segment.memory_size);
  }
  const SymbolTable symbols = SymbolTable::Load(*file);
  if (const auto table = UnwindTable::Build(*file)) {
    for (std::uint32_t i = 0; i < table->rows().row_count; ++i) {
      const std::uint64_t address = table->base_address() + table->rows().rows[i].address;
      (void)table->Find(address);
      (void)table->FindFunction(address);
      (void)symbols.Find(address);
    }
  }
  return 0;
}
