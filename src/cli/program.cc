#include "cli/program.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/text.h"
#include "elf/byte_reader.h"
#include "elf/elf_file.h"

namespace wherefore::cli {
namespace {

namespace fs = std::filesystem;

// Whether the file itself exports this function.
bool Defines(const elf::ElfFile& file, std::string_view function) {
  const elf::Section* const table = file.FindSection(SHT_DYNSYM);
  if (table == nullptr || table->link >= file.sections().size()) return false;
  const auto entries = file.Read(*table);
  const auto names = file.Read(file.sections()[table->link]);
  if (!entries || !names) return false;
  elf::ByteReader reader(entries->bytes());
  while (reader.left() >= sizeof(Elf64_Sym)) {
    const auto symbol = reader.Read<Elf64_Sym>();
    if (symbol.st_shndx == SHN_UNDEF) continue;
    if (elf::ByteReader(names->bytes(), symbol.st_name).CString() == function) return true;
  }
  return false;
}

bool NamesLibrary(const elf::ElfFile& file, std::string_view library) {
  const elf::Section* const names = file.FindSection(".dynstr");
  if (names == nullptr) return false;
  const auto data = file.Read(*names);
  if (!data) return false;
  const auto bytes = data->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find(library) != std::string_view::npos;
}

std::string WhyNot(const std::string& program, const Result<elf::ElfFile>& file) {
  struct stat status{};
  if (stat(program.c_str(), &status) != 0) return "";
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "is setuid or setgid: the system ignores LD_PRELOAD for it";
  if (getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities: the system ignores LD_PRELOAD for it";
  if (!file) return fmt::format("is not an x86-64 ELF file ({})", file.error().message());
  if (file->FindSection(".interp") == nullptr) {
    return "is linked statically: nothing can be preloaded into it; link "
           "libwherefore_nohooks.a instead";
  }
  if (NamesLibrary(*file, "libasan.so"))
    return "is built with AddressSanitizer, which refuses to be preloaded over";
  return "";
}

}  // namespace

std::string Environment(const char* name) {
  const char* const value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no other thread here
  return value == nullptr ? "" : value;
}

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = Environment("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const fs::path candidate = fs::path(path.substr(0, end)) / name;
    path.erase(0, std::min(end + 1, path.size()));
    if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
  }
  return name;
}

std::string Interpreter(const std::string& program) {
  std::ifstream in(program, std::ios::binary);
  std::string line;
  if (!std::getline(in, line) || !line.starts_with("#!")) return program;
  const std::size_t begin = line.find_first_not_of(' ', 2);
  if (begin == std::string::npos) return program;
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

Suitability Examine(const std::string& program) {
  const Result<elf::ElfFile> file = elf::ElfFile::Open(program);
  Suitability found;
  if (file) found.build_id = ToHex(file->build_id());
  found.library_inside = file && file->FindSection("wherefore_inside") != nullptr;
  if (found.library_inside) return found;
  found.why_not = WhyNot(program, file);
  if (found.why_not.empty() && file && Defines(*file, "malloc"))
    found.why_no_heap = "malloc is inside the executable";
  return found;
}

Result<std::string> FindLibrary(const std::string& given) {
  if (!given.empty()) {
    if (fs::exists(given)) return fs::absolute(given).string();
    return Error(Code::kInvalid, "no library at " + given);
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place :
       {"libwherefore.so", "../lib/libwherefore.so", "../lib/x86_64-linux-gnu/libwherefore.so",
        "../lib64/libwherefore.so"}) {
    if (fs::exists(here / place)) return fs::weakly_canonical(here / place).string();
  }
  return Error(Code::kNotFound,
               "libwherefore.so is neither beside this program nor in ../lib; name "
               "it with --library");
}

}  // namespace wherefore::cli
