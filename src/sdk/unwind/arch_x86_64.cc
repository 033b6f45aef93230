// x86-64: see arch.h. Compiled like unwind.cc, and looked at by the same test.
#include <initializer_list>

#include "sdk/unwind/arch.h"

namespace wherefore::sdk {
namespace {

// By its ModRM byte and the one that follows it.
unsigned LengthOfCall(std::uint8_t how, std::uint8_t next) {
  const unsigned mode = how >> 6;
  const bool scaled = mode != 3 && (how & 7) == 4;
  const bool far = mode == 2 || (mode == 0 && ((how & 7) == 5 || (scaled && (next & 7) == 5)));
  return 2U + (scaled ? 1U : 0U) + (far ? 4U : mode == 1 ? 1U : 0U);
}

// Where a stub of .plt or .plt.sec jumps to: [endbr64] [bnd] jmp *n(%rip).
std::uint64_t BehindPlt(StackReader& memory, std::uint64_t target) {
  constexpr std::uint32_t kEndbr64 = 0xfa1e0ff3;
  std::uint64_t code = 0, to = 0;
  std::uint64_t at = target;
  if (!memory.ReadCodeAt(at, &code)) return target;
  if (static_cast<std::uint32_t>(code) == kEndbr64) at += 4;
  if (!memory.ReadCodeAt(at, &code)) return target;
  if ((code & 0xff) == 0xf2) ++at;
  if (!memory.ReadCodeAt(at, &code) || (code & 0xffff) != 0x25ff) return target;
  const auto distance = static_cast<std::int32_t>(code >> 16);
  return memory.ReadCode(at + 6 + static_cast<std::int64_t>(distance), &to) ? to : target;
}

}  // namespace

std::uint64_t ReadCall(StackReader& memory, std::uint64_t next) {
  std::uint64_t before = 0;
  if (!memory.ReadCodeAt(next - 8, &before)) return kIndirectCall;  // may be one
  const auto byte = [before](unsigned back) {
    return static_cast<std::uint8_t>(before >> (64 - 8 * back));
  };
  if (byte(5) == 0xe8) {
    const auto distance = static_cast<std::int32_t>(before >> 32);
    return BehindPlt(memory, next + static_cast<std::int64_t>(distance));
  }
  // call through a register or memory, of whatever length: ff /2
  for (const unsigned length : {2U, 3U, 4U, 6U, 7U}) {
    const std::uint8_t how = byte(length - 1);
    if (byte(length) == 0xff && (how >> 3 & 7) == 2 &&
        LengthOfCall(how, length > 2 ? byte(length - 2) : std::uint8_t{0}) == length)
      return kIndirectCall;
  }
  return kNoCall;
}

bool ReadJump(StackReader& memory, std::uint64_t at, std::uint64_t* to) {
  std::uint64_t code = 0;
  if (!memory.ReadCodeAt(at, &code)) return false;
  const auto distance = static_cast<std::int32_t>(code >> 8);
  *to = (code & 0xff) == 0xe9 ? at + 5 + static_cast<std::int64_t>(distance) : kNoCall;
  return true;
}

bool ReadWayOut(StackReader& memory, std::uint64_t next, elf::UnwindRule* rule) {
  constexpr unsigned kLength = 16;
  std::uint64_t words[kLength / 8 + 1];
  for (unsigned i = 0; i < sizeof words / 8; ++i) {
    if (!memory.ReadCode((next & ~std::uint64_t{7}) + std::uint64_t{8} * i, &words[i]))
      return false;
  }
  const auto* const code = reinterpret_cast<const std::uint8_t*>(words) + next % 8;
  std::int32_t size = 0;
  std::int32_t rbp_at = -1;
  for (unsigned i = 0; i < kLength - 4;) {
    const bool wide = code[i] == 0x41;  // r8 to r15
    const std::uint8_t low = code[i + (wide ? 1 : 0)];
    if (code[i] == 0x48 && code[i + 1] == 0x83 && code[i + 2] == 0xc4 && code[i + 3] < 0x80) {
      size += code[i + 3];  // add rsp, code[i + 3]
      i += 4;
    } else if (low >= 0x58 && low <= 0x5f && (wide || low != 0x5c)) {
      if (!wide && low == 0x5d) rbp_at = size;  // pop rbp
      size += 8;
      i += wide ? 2 : 1;
    } else if (code[i] == 0xc3) {
      *rule = {size + 8, rbp_at < 0 ? elf::kRbpUnchanged : rbp_at - size - 8,
               elf::RowKind::kCfaRsp};
      return size % 8 == 0;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace wherefore::sdk
