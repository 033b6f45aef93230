#include "symbols/module_files.h"

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

// A path from outside is only followed where it leads to a place of its own.
bool IsPlainAbsolute(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == std::string_view::npos &&
         path.find("/../") == std::string_view::npos && !path.starts_with("/proc/") &&
         !path.starts_with("/dev/") && !path.starts_with("/sys/");
}

std::string BuildIdPath(std::string_view folder, std::string_view hex) {
  return std::string(folder) + "/.build-id/" + std::string(hex.substr(0, 2)) + "/" +
         std::string(hex.substr(2)) + ".debug";
}

}  // namespace

std::optional<ModuleFiles> FindModuleFiles(std::string_view build_id, std::string_view path,
                                           const std::vector<std::string>& search_path) {
  const std::optional<std::string> wanted = FromHex(build_id);
  if (!wanted || wanted->size() < 8) return std::nullopt;
  const std::string hex = ToHex(*wanted);
  std::vector<std::string> candidates;
  if (IsPlainAbsolute(path)) candidates.emplace_back(path);
  for (const std::string& folder : search_path) {
    candidates.push_back(BuildIdPath(folder, hex));
    if (IsPlainAbsolute(path)) candidates.push_back(folder + std::string(path));
    const std::string_view name = profile::BaseName(path);
    if (!name.empty() && name.find('/') == std::string_view::npos && name != "..") {
      candidates.push_back(folder + "/" + std::string(name));
    }
  }
  candidates.push_back(BuildIdPath(kSystemDebug, hex));

  ModuleFiles found;
  for (const std::string& candidate : candidates) {
    auto file = elf::ElfFile::Open(candidate);
    if (!file || file->build_id() != *wanted) continue;
    const elf::Section* const text = file->FindSection(".text");
    const bool is_program = text == nullptr || text->type != SHT_NOBITS;
    const bool has_debug = HasDebugInfo(*file);
    if (is_program && found.program.empty()) {
      found.program = candidate;
      found.layout = std::make_shared<const elf::ElfFile>(*std::move(file));
    } else if (!found.layout) {
      found.layout = std::make_shared<const elf::ElfFile>(*std::move(file));
    }
    if (has_debug && found.debug.empty()) found.debug = candidate;
    if (!found.program.empty() && !found.debug.empty()) break;
  }
  if (!found.layout) return std::nullopt;
  return found;
}

}  // namespace wherefore::symbols
