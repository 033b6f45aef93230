#include "profile/frame_name.h"

#include <fmt/format.h>

#include "base/demangle.h"

namespace wherefore::profile {
namespace {

FrameKind KindOf(const FrameFacts& facts) {
  if (facts.frame_type == "kernel" || facts.mapping_file.starts_with("[kernel")) {
    return FrameKind::kKernel;
  }
  if (facts.inlined) return FrameKind::kInlined;
  if (facts.frame_type == "native") return FrameKind::kNative;
  if (facts.frame_type == "jvm" || facts.frame_type == "v8js" || facts.frame_type == "dotnet") {
    return FrameKind::kJit;
  }
  return FrameKind::kUser;
}

}  // namespace

std::string_view BaseName(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

FlameFunction NameFrame(const FrameFacts& facts) {
  FlameFunction f;
  f.module = BaseName(facts.mapping_file);
  f.file = facts.file;
  f.start_line = facts.start_line;
  f.kind = KindOf(facts);
  const std::string_view name = !facts.name.empty() ? facts.name : facts.system_name;
  if (!name.empty()) {
    f.name = Demangle(name);
  } else if (!facts.file.empty()) {
    f.name = facts.file;
  } else if (!f.module.empty()) {
    f.name = fmt::format("{}+{:#x}", f.module,
                         facts.address - facts.mapping_start + facts.mapping_offset);
  } else {
    f.name = facts.address != 0 ? fmt::format("{:#x}", facts.address) : "[unknown]";
  }
  return f;
}

}  // namespace wherefore::profile
