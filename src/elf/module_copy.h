// ModuleCopy: what unwinding needs of a module the dynamic loader has mapped into this process.
//
// Made inside a callback of dl_iterate_phdr, whose lock keeps dlclose out, and read afterwards by
// ElfFile::FromCopy(). So nobody reads memory that may be unmapped meanwhile, and nothing but
// copying happens under the loader's lock: no allocator is asked (one that asks the loader while it
// holds a lock of its own would wait for us, and we for it), no lock is waited for.
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
  std::string_view name;   // as the loader knows it; empty for the program
  std::span<const Elf64_Phdr> headers;
  std::string_view build_id;  // raw bytes, may be empty
  std::array<Part, 8> parts;  // by address, those with bytes first

  // All of these lies in one part; empty when it does not.
  [[nodiscard]] std::span<const std::uint8_t> Find(std::uint64_t address, std::uint64_t size) const;

  // Everything but the unwind information. What cannot be read is left out; what there was no
  // memory for too, and the arena says so.
  void CopyIdentity(const dl_phdr_info& info, PageArena& arena);
  // .eh_frame_hdr and .eh_frame, in the same way.
  void CopyFrames(PageArena& arena);

 private:
  std::span<const std::uint8_t> Copy(std::uint64_t address, std::uint64_t size, PageArena& arena);
};

// The GNU build id out of a note segment or section, empty when it holds none.
[[nodiscard]] std::string_view BuildIdFromNotes(std::span<const std::uint8_t> notes);
// Where .eh_frame is, by .eh_frame_hdr, of which the first 8 bytes suffice; 0: of an unknown kind.
[[nodiscard]] std::uint64_t EhFrameAddress(std::uint64_t header_address,
                                           std::span<const std::uint8_t> header);

inline constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;

}  // namespace wherefore::elf
