// The name of a frame in a flame graph: demangled function name and module, or module and address
// if the function is unknown. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/flame_tree.h"

namespace wherefore::profile {

inline constexpr std::string_view kNoStack = "[no stack]";
// Its dictionary row is on a damaged part of the disk.
inline constexpr std::string_view kNameLost = "[name lost]";
inline constexpr std::string_view kOther = "other";

// The file name without its directory; "[kernel.kallsyms]" and the like are kept.
[[nodiscard]] std::string_view BaseName(std::string_view path);

struct FrameFacts {
  std::string_view name;
  std::string_view system_name;
  std::string_view file;
  std::int64_t start_line = 0;
  std::string_view mapping_file;
  std::uint64_t mapping_start = 0;
  std::uint64_t mapping_offset = 0;
  std::uint64_t address = 0;
  std::string_view frame_type;  // profile.frame.type
  bool inlined = false;
};
[[nodiscard]] FlameFunction NameFrame(const FrameFacts& facts);

}  // namespace wherefore::profile
