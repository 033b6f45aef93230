#include "elf/demangle.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace wherefore::elf {
namespace {

constexpr std::size_t kMaxMangled = 8192;

std::string_view WithoutCloneSuffix(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kSuffixes = {
      ".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm."};
  std::size_t end = name.size();
  for (const std::string_view suffix : kSuffixes) {
    const std::size_t at = name.find(suffix);
    if (at != std::string_view::npos && at > 0) end = std::min(end, at);
  }
  return name.substr(0, end);
}

}  // namespace

std::string Demangle(std::string_view mangled) {
  std::string name(WithoutCloneSuffix(mangled));
  if (!name.starts_with("_Z") || name.size() > kMaxMangled) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status == 0 && plain != nullptr) name = plain.get();
  return name;
}

}  // namespace wherefore::elf
