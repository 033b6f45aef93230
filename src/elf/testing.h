// Shared by the tests of this module: real files of this machine, and tools to compare with.
#pragma once

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "elf/module_copy.h"

namespace wherefore::elf {

// The output of a command; fails the test if the command fails.
inline std::string Output(const std::string& command) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr) << command;
  if (pipe == nullptr) return out;
  char buffer[65536];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}

// The copy of a library this process has loaded, found by a part of its name.
inline ModuleCopy CopyOfLoaded(std::string_view part, PageArena& arena) {
  struct Search {
    std::string_view part;
    PageArena& arena;
    ModuleCopy copy;
  } search{part, arena, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* const s = static_cast<Search*>(data);
        if (std::string_view(info->dlpi_name).find(s->part) == std::string_view::npos) return 0;
        s->copy.CopyIdentity(*info, s->arena);
        s->copy.CopyFrames(s->arena);
        return 1;
      },
      &search);
  EXPECT_FALSE(search.copy.headers.empty()) << part;
  return search.copy;
}

// The path of a library this process has loaded, found by a part of its name.
inline std::string LoadedLibrary(std::string_view part) {
  struct Search {
    std::string_view part;
    std::string found;
  } search{part, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* const s = static_cast<Search*>(data);
        if (std::string_view(info->dlpi_name).find(s->part) == std::string_view::npos) return 0;
        s->found = info->dlpi_name;
        return 1;
      },
      &search);
  EXPECT_FALSE(search.found.empty()) << part;
  return search.found;
}

inline std::string ThisProgram() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

// A temporary directory, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "wherefore-elf-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace wherefore::elf
