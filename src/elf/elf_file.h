// ElfFile: an x86-64 ELF file, read-only and untrusted.
//
// There are three kinds of source: a file on disk (read with pread and never mapped, because a file
// that is truncated while mapped kills the reader with SIGBUS), bytes in memory (borrowed), and the
// copy of a module the dynamic loader has mapped into this process (segments only; there are no
// section headers in memory). Every offset and size is checked: reading a damaged part gives an
// error, never a crash. Const after opening; any thread.
//
// This module also runs inside other people's processes (libwherefore): of base it uses result.h
// only.
#pragma once

#include <elf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wherefore::elf {

struct ModuleCopy;

// Bytes of a file: borrowed from the source, or owned.
class Data {
 public:
  Data() = default;
  explicit Data(std::span<const std::uint8_t> borrowed) : borrowed_(borrowed) {}
  explicit Data(std::vector<std::uint8_t> owned) : owned_(std::move(owned)), owns_(true) {}

  [[nodiscard]] std::span<const std::uint8_t> bytes() const {
    return owns_ ? std::span<const std::uint8_t>(owned_) : borrowed_;
  }

 private:
  std::vector<std::uint8_t> owned_;
  std::span<const std::uint8_t> borrowed_;
  bool owns_ = false;
};

// A PT_LOAD segment.
struct Segment {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  bool executable = false;
};

struct Section {
  std::string name;
  std::uint32_t type = SHT_NULL;
  std::uint32_t link = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// The address of the byte at a file offset; none if no segment contains it.
[[nodiscard]] std::optional<std::uint64_t> AddressOfOffset(std::span<const Segment> segments,
                                                           std::uint64_t offset);

class ElfFile {
 public:
  static Result<ElfFile> Open(const std::string& path);
  // Takes ownership of `fd`, also on failure. kInvalid if it is not a regular file.
  static Result<ElfFile> FromDescriptor(int fd);
  // `bytes` must outlive the ElfFile and everything read from it.
  static Result<ElfFile> FromBytes(std::span<const std::uint8_t> bytes);
  // A module as dl_iterate_phdr showed it. `copy` must outlive the ElfFile and everything read from
  // it; the module itself may be gone.
  static Result<ElfFile> FromCopy(const ModuleCopy& copy);

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  // Empty for a copied module, and if the section headers are missing or damaged.
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  [[nodiscard]] const Section* FindSection(std::string_view name) const;
  [[nodiscard]] const Section* FindSection(std::uint32_t type) const;
  // Fails for compressed sections (SHF_COMPRESSED) and sections without bytes in the file.
  [[nodiscard]] Result<Data> Read(const Section& section) const;

  // The raw bytes of the GNU build id; empty if there is none.
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  // The lowest address of any segment, rounded down to its page. Addresses in tables are relative
  // to it.
  [[nodiscard]] std::uint64_t base_address() const { return base_address_; }
  [[nodiscard]] std::uint64_t end_address() const { return end_address_; }
  // The .eh_frame_hdr section, by its program header.
  [[nodiscard]] const std::optional<Segment>& eh_frame_header() const { return eh_frame_header_; }

  // `size` bytes from a virtual address, or what is left of its segment.
  [[nodiscard]] Result<Data> ReadAddress(std::uint64_t address, std::uint64_t size) const;
  [[nodiscard]] std::optional<std::uint64_t> OffsetOfAddress(std::uint64_t address) const;
  [[nodiscard]] std::optional<std::uint64_t> AddressOfOffset(std::uint64_t offset) const {
    return elf::AddressOfOffset(segments_, offset);
  }

 private:
  class Source;

  ElfFile() = default;
  static Result<ElfFile> FromSource(std::shared_ptr<const Source> source);
  Result<> ReadSegments(std::span<const Elf64_Phdr> headers);
  void ReadSections(const Elf64_Ehdr& header);
  void ReadBuildId(std::span<const Elf64_Phdr> headers);
  [[nodiscard]] const Segment* SegmentOfAddress(std::uint64_t address) const;

  std::shared_ptr<const Source> source_;
  bool copied_module_ = false;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  std::optional<Segment> eh_frame_header_;
  std::string build_id_;
  std::uint64_t base_address_ = 0;
  std::uint64_t end_address_ = 0;
};

}  // namespace wherefore::elf
