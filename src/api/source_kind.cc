#include "api/source_kind.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace wherefore::api {
namespace {

using Names = std::initializer_list<std::string_view>;

bool IsOneOf(std::string_view name, Names names) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> LowerSegments(std::string_view path) {
  std::vector<std::string> out(1);
  for (const char c : path) {
    if (c == '/') {
      out.emplace_back();
    } else {
      out.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
  }
  return out;
}

// Where tools keep other people's source.
bool HoldsSource(std::string_view hidden) {
  return IsOneOf(hidden,
                 {".cargo", ".rustup", ".m2",   ".gradle", ".ivy2",   ".nuget", ".venv",  ".tox",
                  ".pyenv", ".rbenv",  ".rvm",  ".gem",    ".bundle", ".build", ".conan", ".conan2",
                  ".cache", ".local",  ".yarn", ".pnpm",   ".bazel",  ".nvm"});
}

// Settings, data and keys: no compiler or interpreter names them as source.
bool IsOfNoSource(std::string_view ending) {
  return IsOneOf(
      ending, {"env",    "ini",         "conf",     "cfg",   "cnf",    "config",     "properties",
               "yaml",   "yml",         "json",     "json5", "toml",   "plist",      "xml",
               "tfvars", "tfstate",     "txt",      "log",   "csv",    "tsv",        "bak",
               "old",    "orig",        "swp",      "dump",  "db",     "sqlite",     "sqlite3",
               "kdb",    "kdbx",        "keystore", "jks",   "key",    "pem",        "crt",
               "cer",    "der",         "csr",      "p7b",   "p8",     "p12",        "pfx",
               "ppk",    "pub",         "gpg",      "pgp",   "asc",    "keyring",    "ovpn",
               "rdp",    "netrc",       "htpasswd", "token", "secret", "secrets",    "password",
               "passwd", "credentials", "lock",     "pcap",  "keytab", "kubeconfig", "age",
               "vault"});
}

// Names without an ending, as headers of C++ have too: "db-password", not "QPasswordDigestor".
bool IsSecretWord(std::string_view name) {
  constexpr std::string_view kBetween = "-_ ";
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of(kBetween, begin), name.size());
    if (IsOneOf(
            name.substr(begin, end - begin),
            {"secret",  "secrets",    "credential", "credentials", "password",   "passwords",
             "passwd",  "passphrase", "shadow",     "token",       "tokens",     "key",
             "keys",    "apikey",     "privatekey", "rsa",         "dsa",        "ecdsa",
             "ed25519", "netrc",      "pgpass",     "htpasswd",    "kubeconfig", "dockercfg"})) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

bool IsSecretFolder(std::string_view name) {
  return IsOneOf(name, {"secret", "secrets", "credentials", "private", "keys", "certs", "ssl"});
}

}  // namespace

bool LooksSecretByName(std::string_view path) {
  const std::vector<std::string> segments = LowerSegments(path);
  const std::string& name = segments.back();
  if (name.empty() || name.starts_with('.')) return true;
  const std::size_t dot = name.rfind('.');
  const bool has_ending = dot != std::string::npos && dot + 1 < name.size();
  if (has_ending && IsOfNoSource(std::string_view(name).substr(dot + 1))) return true;
  if (!has_ending && IsSecretWord(name)) return true;
  return std::ranges::any_of(segments.begin(), segments.end() - 1, [&](const std::string& folder) {
    return (folder.starts_with('.') && !HoldsSource(folder)) ||
           (!has_ending && IsSecretFolder(folder));
  });
}

bool LooksSecretByContent(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kKey = "PRIVATE KEY";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::string_view rest = text.substr(at + kBegin.size());
    if (rest.substr(0, rest.find('\n')).find(kKey) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace wherefore::api
