#include "elf/module_copy.h"

#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "elf/byte_reader.h"

namespace wherefore::elf {
namespace {

constexpr std::uint64_t kMaxPart = 1U << 29U;

// Reads through the kernel, because a direct read would crash on a page whose file was truncated,
// or that is execute-only. Reads directly where a sandbox forbids the system call.
bool CopyMemory(std::uint64_t address, void* to, std::size_t size) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's own addresses
  void* const from = reinterpret_cast<void*>(address);
  const iovec local{to, size};
  const iovec remote{from, size};
  const int saved_errno = errno;
  const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  const bool forbidden = n < 0 && errno != EFAULT;
  errno = saved_errno;
  if (!forbidden) return n == static_cast<ssize_t>(size);
  std::memcpy(to, from, size);
  return true;
}

}  // namespace

std::string_view BuildIdFromNotes(std::span<const std::uint8_t> notes) {
  ByteReader reader(notes);
  while (reader.left() >= sizeof(Elf64_Nhdr)) {
    const auto header = reader.Read<Elf64_Nhdr>();
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    const auto name = reader.Take(padded(header.n_namesz));
    const auto text = reader.Take(std::min<std::uint64_t>(padded(header.n_descsz), reader.left()));
    if (reader.failed() || text.size() < header.n_descsz) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name.data(), "GNU", 4) == 0) {
      return {reinterpret_cast<const char*>(text.data()), header.n_descsz};
    }
  }
  return {};
}

// Four bytes of version and encodings, then a pointer. Linkers write it as 32 bits relative to
// itself; no other form has been seen.
std::uint64_t EhFrameAddress(std::uint64_t header_address, std::span<const std::uint8_t> header) {
  ByteReader reader(header);
  const auto version = reader.Read<std::uint8_t>();
  const auto encoding = reader.Read<std::uint8_t>();
  (void)reader.Read<std::uint16_t>();
  const auto offset = reader.Read<std::int32_t>();
  if (reader.failed() || version != 1 || encoding != 0x1b) return 0;
  return header_address + 4 + static_cast<std::uint64_t>(std::int64_t{offset});
}

std::span<const std::uint8_t> ModuleCopy::Find(std::uint64_t address, std::uint64_t size) const {
  for (const Part& part : parts) {
    if (address < part.address || address - part.address > part.bytes.size()) continue;
    const auto rest = part.bytes.subspan(address - part.address);
    if (!rest.empty() && size <= rest.size()) return rest.first(size);
  }
  return {};
}

// At most `size` bytes, limited to the part of the segment that is backed by the file.
std::span<const std::uint8_t> ModuleCopy::Copy(std::uint64_t address, std::uint64_t size,
                                               PageArena& arena) {
  const auto free =
      std::ranges::find_if(parts, [](const Part& part) { return part.bytes.empty(); });
  for (const Elf64_Phdr& header : headers) {
    const std::uint64_t inside = address - header.p_vaddr;
    const std::uint64_t bytes = std::min(header.p_filesz, header.p_memsz);
    if (header.p_type != PT_LOAD || address < header.p_vaddr || inside >= bytes) continue;
    size = std::min(size, bytes - inside);
    if (size > kMaxPart || free == parts.end()) return {};
    auto* const to = static_cast<std::uint8_t*>(arena.Take(size));
    if (to == nullptr || !CopyMemory(bias + address, to, size)) return {};
    *free = {.address = address, .bytes = {to, size}};
    return free->bytes;
  }
  return {};
}

void ModuleCopy::CopyIdentity(const dl_phdr_info& info, PageArena& arena) {
  bias = info.dlpi_addr;
  const std::string_view called = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  auto* const text = static_cast<char*>(arena.Take(called.size() + 1));
  auto* const table = static_cast<Elf64_Phdr*>(
      arena.Take(std::max<std::size_t>(info.dlpi_phnum, 1) * sizeof(Elf64_Phdr)));
  if (text == nullptr || table == nullptr) return;
  called.copy(text, called.size());
  name = {text, called.size()};
  std::copy_n(info.dlpi_phdr, info.dlpi_phnum, table);
  headers = {table, info.dlpi_phnum};
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteBytes || !build_id.empty()) continue;
    build_id = BuildIdFromNotes(Copy(header.p_vaddr, header.p_filesz, arena));
  }
}

void ModuleCopy::CopyFrames(PageArena& arena) {
  const auto header = std::ranges::find(headers, PT_GNU_EH_FRAME, &Elf64_Phdr::p_type);
  if (header == headers.end()) return;
  const std::uint64_t frames =
      EhFrameAddress(header->p_vaddr, Copy(header->p_vaddr, header->p_filesz, arena));
  // An entry of length 0 marks its end; the segment ends soon after.
  if (frames != 0) (void)Copy(frames, UINT32_MAX, arena);
}

}  // namespace wherefore::elf
