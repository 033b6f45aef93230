// Finds the files of a module by its build id: the program or library itself, and its debug file.
//
// Looks at the sender's path, in the folders of --symbol-path (by path, by name, and as a .build-id
// tree) and in /usr/lib/debug. A file counts only if it has the same build id, so a wrong guess
// never gives wrong names. Only regular files are opened (base/regular_file.h). Opening may still
// block forever (a dead network file system): so this runs in the worker (worker.h), which can be
// killed, never in the server. Reads a few headers per file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace wherefore::symbols {

struct ModuleFiles {
  std::string program;                 // has the segments and perhaps symbols; may be empty
  std::string debug;                   // has DWARF; may be the same file; may be empty
  std::vector<elf::Segment> segments;  // of `program`, else of `debug`
};

// `build_id` is hex text, either case.
[[nodiscard]] std::optional<ModuleFiles> FindModuleFiles(
    std::string_view build_id, std::string_view path, const std::vector<std::string>& search_path);

}  // namespace wherefore::symbols
