#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "elf/byte_reader.h"
#include "elf/module_copy.h"

namespace wherefore::elf {
namespace {

constexpr std::uint64_t kPageSize = 4096;
constexpr std::size_t kMaxSections = 100'000;  // -ffunction-sections objects have tens of thousands
constexpr std::uint64_t kMaxPart = 1 << 29;    // limit for one read
// Larger address ranges cannot be addressed with 32-bit offsets.
constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 48;

bool Overflows(std::uint64_t start, std::uint64_t size, std::uint64_t limit) {
  return start > limit || size > limit - start;
}

template <typename T>
std::vector<T> CopyTable(std::span<const std::uint8_t> bytes) {
  std::vector<T> table(bytes.size() / sizeof(T));
  if (!table.empty()) std::memcpy(table.data(), bytes.data(), table.size() * sizeof(T));
  return table;
}

}  // namespace

// Where bytes come from. Offsets are file offsets, or addresses for a copied module.
class ElfFile::Source {
 public:
  explicit Source(std::span<const std::uint8_t> bytes) : bytes_(bytes), size_(bytes.size()) {}
  Source(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  explicit Source(const ModuleCopy& copy) : copy_(&copy), size_(kMaxAddress) {}
  ~Source() {
    if (fd_ >= 0) close(fd_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  [[nodiscard]] Result<Data> Read(std::uint64_t offset, std::uint64_t size) const {
    if (Overflows(offset, size, size_)) {
      return Error(Code::kCorrupt, "ELF: a part lies outside the file");
    }
    if (copy_ != nullptr) return ReadCopy(offset, size);
    if (fd_ < 0) return Data(bytes_.subspan(offset, size));
    return ReadFile(offset, size);
  }

 private:
  [[nodiscard]] Result<Data> ReadCopy(std::uint64_t address, std::uint64_t size) const {
    const auto bytes = copy_->Find(address, size);
    if (bytes.empty()) return Error(Code::kIo, "ELF: this part of the module was not copied");
    return Data(bytes);
  }

  [[nodiscard]] Result<Data> ReadFile(std::uint64_t offset, std::uint64_t size) const {
    if (size > kMaxPart) return Error(Code::kLimit, "ELF: a part of more than 512 MiB");
    std::vector<std::uint8_t> out(size);
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n =
          pread(fd_, out.data() + done, size - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Error(Code::kIo, "ELF: the file was truncated or cannot be read");
      done += static_cast<std::size_t>(n);
    }
    return Data(std::move(out));
  }

  std::span<const std::uint8_t> bytes_;
  int fd_ = -1;
  const ModuleCopy* copy_ = nullptr;
  std::uint64_t size_ = 0;
};

Result<ElfFile> ElfFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Error(Code::kIo, path + ": cannot be opened");
  auto file = FromDescriptor(fd);
  if (!file) return std::move(file).error().Within(path);
  return file;
}

Result<ElfFile> ElfFile::FromDescriptor(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return Error(Code::kInvalid, "not a regular file");
  }
  return FromSource(std::make_shared<const Source>(fd, static_cast<std::uint64_t>(status.st_size)));
}

Result<ElfFile> ElfFile::FromBytes(std::span<const std::uint8_t> bytes) {
  return FromSource(std::make_shared<const Source>(bytes));
}

Result<ElfFile> ElfFile::FromSource(std::shared_ptr<const Source> source) {
  ElfFile file;
  file.source_ = std::move(source);
  auto first = file.source_->Read(0, sizeof(Elf64_Ehdr));
  if (!first) return Error(Code::kCorrupt, "ELF: too short");
  const auto header = ByteReader(first->bytes()).Read<Elf64_Ehdr>();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Error(Code::kInvalid, "ELF: not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    return Error(Code::kUnsupported, "ELF: not for x86-64");
  }
  std::vector<Elf64_Phdr> headers;
  if (header.e_phnum > 0) {
    if (header.e_phentsize != sizeof(Elf64_Phdr)) {
      return Error(Code::kCorrupt, "ELF: unexpected size of program headers");
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        const Data table, file.source_->Read(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)));
    headers = CopyTable<Elf64_Phdr>(table.bytes());
  }
  WHEREFORE_RETURN_IF_ERROR(file.ReadSegments(headers));
  file.ReadSections(header);
  file.ReadBuildId(headers);
  return file;
}

Result<ElfFile> ElfFile::FromCopy(const ModuleCopy& copy) {
  ElfFile file;
  file.source_ = std::make_shared<const Source>(copy);
  file.copied_module_ = true;
  file.build_id_ = copy.build_id;
  WHEREFORE_RETURN_IF_ERROR(file.ReadSegments(copy.headers));
  return file;
}

Result<> ElfFile::ReadSegments(std::span<const Elf64_Phdr> headers) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_LOAD && header.p_type != PT_GNU_EH_FRAME) continue;
    if (Overflows(header.p_vaddr, header.p_memsz, kMaxAddress)) {
      return Error(Code::kCorrupt, "ELF: a segment outside the address space");
    }
    // The part of a segment beyond the file's bytes (.bss) holds nothing we look for.
    const Segment segment{.offset = header.p_offset,
                          .address = header.p_vaddr,
                          .file_size = std::min(header.p_filesz, header.p_memsz),
                          .memory_size = header.p_memsz,
                          .executable = (header.p_flags & PF_X) != 0};
    if (header.p_type == PT_LOAD) {
      segments_.push_back(segment);
    } else {
      eh_frame_header_ = segment;
    }
  }
  base_address_ = segments_.empty() ? 0 : kMaxAddress;
  for (const Segment& segment : segments_) {
    base_address_ = std::min(base_address_, segment.address & ~(kPageSize - 1));
    end_address_ = std::max(end_address_, segment.address + segment.memory_size);
  }
  return {};
}

// Damaged section headers are not an error: stripped and packed programs run without them.
void ElfFile::ReadSections(const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  auto first = source_->Read(header.e_shoff, sizeof(Elf64_Shdr));
  if (!first) return;
  const auto zeroth = ByteReader(first->bytes()).Read<Elf64_Shdr>();
  // If there are more sections than 16 bits can count, the first, unused header holds the number.
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : zeroth.sh_size;
  const std::uint64_t names_index =
      header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : zeroth.sh_link;
  if (count > kMaxSections || names_index >= count) return;
  auto table = source_->Read(header.e_shoff, count * sizeof(Elf64_Shdr));
  if (!table) return;
  const auto headers = CopyTable<Elf64_Shdr>(table->bytes());
  const Elf64_Shdr& strings = headers[names_index];
  auto names = source_->Read(strings.sh_offset, strings.sh_size);
  if (!names) return;
  sections_.reserve(headers.size());
  for (const Elf64_Shdr& section : headers) {
    ByteReader name(names->bytes(), section.sh_name);
    sections_.push_back({.name = std::string(name.CString()),
                         .type = section.sh_type,
                         .link = section.sh_link,
                         .flags = section.sh_flags,
                         .address = section.sh_addr,
                         .offset = section.sh_offset,
                         .size = section.sh_size});
  }
}

void ElfFile::ReadBuildId(std::span<const Elf64_Phdr> headers) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteBytes) continue;
    auto notes = source_->Read(header.p_offset, header.p_filesz);
    if (notes) build_id_ = BuildIdFromNotes(notes->bytes());
    if (!build_id_.empty()) return;
  }
  // Detached debug files may have segments without bytes.
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE || section.size > kMaxNoteBytes) continue;
    auto notes = Read(section);
    if (notes) build_id_ = BuildIdFromNotes(notes->bytes());
    if (!build_id_.empty()) return;
  }
}

const Section* ElfFile::FindSection(std::string_view name) const {
  const auto it = std::ranges::find(sections_, name, &Section::name);
  return it == sections_.end() ? nullptr : &*it;
}

const Section* ElfFile::FindSection(std::uint32_t type) const {
  const auto it = std::ranges::find(sections_, type, &Section::type);
  return it == sections_.end() ? nullptr : &*it;
}

Result<Data> ElfFile::Read(const Section& section) const {
  if (section.type == SHT_NOBITS) {
    return Error(Code::kNotFound, "ELF: section " + section.name + " has no bytes in this file");
  }
  if ((section.flags & SHF_COMPRESSED) != 0) {
    return Error(Code::kUnsupported, "ELF: section " + section.name + " is compressed");
  }
  return source_->Read(section.offset, section.size);
}

const Segment* ElfFile::SegmentOfAddress(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address >= segment.address && address - segment.address < segment.file_size) {
      return &segment;
    }
  }
  return nullptr;
}

Result<Data> ElfFile::ReadAddress(std::uint64_t address, std::uint64_t size) const {
  const Segment* const segment = SegmentOfAddress(address);
  if (segment == nullptr) return Error(Code::kCorrupt, "ELF: an address outside every segment");
  const std::uint64_t inside = address - segment->address;
  const std::uint64_t length = std::min(size, segment->file_size - inside);
  if (copied_module_) return source_->Read(address, length);
  if (Overflows(segment->offset, inside, source_->size())) {
    return Error(Code::kCorrupt, "ELF: a segment lies outside the file");
  }
  const std::uint64_t offset = segment->offset + inside;
  return source_->Read(offset, std::min(length, source_->size() - offset));
}

std::optional<std::uint64_t> ElfFile::OffsetOfAddress(std::uint64_t address) const {
  const Segment* const segment = SegmentOfAddress(address);
  if (segment == nullptr) return std::nullopt;
  return segment->offset + (address - segment->address);
}

std::optional<std::uint64_t> AddressOfOffset(std::span<const Segment> segments,
                                             std::uint64_t offset) {
  // Segments may share a page of the file; prefer the one with code.
  std::optional<std::uint64_t> found;
  for (const Segment& segment : segments) {
    if (offset < segment.offset || offset - segment.offset >= segment.file_size) continue;
    if (!found || segment.executable) found = segment.address + (offset - segment.offset);
  }
  return found;
}

}  // namespace wherefore::elf
