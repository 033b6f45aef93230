#include "symbols/module_files.h"

#include "base/regular_file.h"
#include "base/text.h"
#include "profile/frame_name.h"

namespace wherefore::symbols {
namespace {

constexpr std::string_view kSystemDebug = "/usr/lib/debug";

bool HasDebugInfo(const elf::ElfFile& file) {
  for (const std::string_view name : {".debug_info", ".zdebug_info"}) {
    const elf::Section* const section = file.FindSection(name);
    if (section != nullptr && section->type != SHT_NOBITS) return true;
  }
  return false;
}

// Paths from senders must be absolute and without "..".
bool IsPlainAbsolute(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == std::string_view::npos &&
         (std::string(path) + "/").find("/../") == std::string::npos;
}

std::string BuildIdPath(std::string_view folder, std::string_view hex) {
  return std::string(folder) + "/.build-id/" + std::string(hex.substr(0, 2)) + "/" +
         std::string(hex.substr(2)) + ".debug";
}

std::vector<std::string> Candidates(const std::string& hex, std::string_view path,
                                    const std::vector<std::string>& search_path) {
  std::vector<std::string> all;
  if (IsPlainAbsolute(path)) all.emplace_back(path);
  for (const std::string& folder : search_path) {
    all.push_back(BuildIdPath(folder, hex));
    if (IsPlainAbsolute(path)) all.push_back(folder + std::string(path));
    const std::string_view name = profile::BaseName(path);
    if (!name.empty() && name.find('/') == std::string_view::npos && name != "..") {
      all.push_back(folder + "/" + std::string(name));
    }
  }
  all.push_back(BuildIdPath(kSystemDebug, hex));
  return all;
}

}  // namespace

std::optional<ModuleFiles> FindModuleFiles(std::string_view build_id, std::string_view path,
                                           const std::vector<std::string>& search_path) {
  const std::optional<std::string> wanted = FromHex(build_id);
  if (!wanted || wanted->size() < 8) return std::nullopt;
  ModuleFiles found;
  for (const std::string& candidate : Candidates(ToHex(*wanted), path, search_path)) {
    auto opened = OpenRegularFile(candidate);
    if (!opened) continue;
    // An operator may keep symbols there, but a sender must not point into it.
    if (candidate == path && opened->path.starts_with("/dev/")) continue;
    const auto file = elf::ElfFile::FromDescriptor(opened->file.Release());
    if (!file || file->build_id() != *wanted) continue;
    const elf::Section* const text = file->FindSection(".text");
    const bool is_program = text == nullptr || text->type != SHT_NOBITS;
    if (is_program && found.program.empty()) {
      found.program = candidate;
      found.segments = file->segments();
    } else if (found.segments.empty()) {
      found.segments = file->segments();
    }
    if (found.debug.empty() && HasDebugInfo(*file)) found.debug = candidate;
    if (!found.program.empty() && !found.debug.empty()) break;
  }
  if (found.program.empty() && found.debug.empty()) return std::nullopt;
  return found;
}

}  // namespace wherefore::symbols
