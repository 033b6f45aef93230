#include "base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/rust_names.h"

namespace wherefore {
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

std::string Demangle(std::string_view name) {
  std::string out(name);
  if (name.size() > kMaxMangled) return out;
  if (name.starts_with("_R")) return RustName(name).value_or(std::move(out));
  if (!name.starts_with("_Z")) {
    DecodeLegacyRustName(out);  // some senders use a C++ demangler for everything
    return out;
  }
  out.resize(WithoutCloneSuffix(name).size());
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(out.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || plain == nullptr) return std::string(name);
  out = plain.get();
  DecodeLegacyRustName(out);
  return out;
}

std::string DemangleSymbol(std::string_view symbol) {
  return Demangle(WithoutCloneSuffix(symbol));
}

}  // namespace wherefore
