// ModuleCopy: the parts of a loaded module that unwinding needs.
//
// Made inside a dl_iterate_phdr callback, whose lock keeps dlclose out, and read afterwards through
// ElfFile::FromCopy(). So nobody reads memory that may be unmapped meanwhile. Under the loader's
// lock we only copy: no allocator is called (one that calls the loader while it holds its own lock
// would deadlock with us) and no lock is taken.
#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "elf/page_arena.h"

struct dl_phdr_info;  // NOLINT(readability-identifier-naming): the loader's

namespace wherefore::elf {

struct ModuleCopy {
  struct Part {
    std::uint64_t address = 0;  // in the file
    std::span<const std::uint8_t> bytes;
  };

  std::uint64_t bias = 0;  // address in the process - address in the file
  std::string_view name;   // the loader's name; empty for the program itself
  std::span<const Elf64_Phdr> headers;
  std::string_view build_id;  // raw bytes; may be empty
  std::array<Part, 8> parts;  // by address, those with bytes first

  // A range inside one part; empty if it is not.
  [[nodiscard]] std::span<const std::uint8_t> Find(std::uint64_t address, std::uint64_t size) const;

  // Everything except unwind information. Unreadable parts are left out, as are parts there was no
  // memory for; the arena then says so.
  void CopyIdentity(const dl_phdr_info& info, PageArena& arena);
  // .eh_frame_hdr and .eh_frame, likewise.
  void CopyFrames(PageArena& arena);

 private:
  std::span<const std::uint8_t> Copy(std::uint64_t address, std::uint64_t size, PageArena& arena);
};

// The GNU build id in a note segment or section; empty if there is none.
[[nodiscard]] std::string_view BuildIdFromNotes(std::span<const std::uint8_t> notes);
// The address of .eh_frame according to .eh_frame_hdr (its first 8 bytes suffice); 0: unknown form.
[[nodiscard]] std::uint64_t EhFrameAddress(std::uint64_t header_address,
                                           std::span<const std::uint8_t> header);

inline constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;

}  // namespace wherefore::elf
