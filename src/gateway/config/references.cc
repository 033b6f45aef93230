#include "gateway/config/references.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

bool IsVariableName(std::string_view name) {
  constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view kDigits = "0123456789";
  if (name.empty() || !kFirst.contains(name[0])) return false;
  return std::ranges::all_of(name,
                             [&](char c) { return kFirst.contains(c) || kDigits.contains(c); });
}

// Replaces the references of one scalar.
class Replacement {
 public:
  Replacement(Node& node, const Lookup& lookup, Problems& problems)
      : node_(node), lookup_(lookup), problems_(problems) {}

  void Run() {
    const std::string text = node_.text;
    std::string out;
    bool whole = false;  // the value is one reference
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t dollar = std::min(text.find('$', at), text.size());
      out.append(text, at, dollar - at);
      at = dollar;
      if (at == text.size()) break;
      if (text.compare(at, 2, "$$") == 0) {
        out += '$';
        at += 2;
      } else if (text.compare(at, 2, "${") == 0) {
        const std::size_t end = text.find('}', at);
        if (end == std::string::npos) {
          return Fail("`${` without `}`; write `$${` for the characters");
        }
        whole = at == 0 && end + 1 == text.size();
        const auto value = Value(std::string_view(text).substr(at + 2, end - at - 2));
        if (!value) return;
        out += *value;
        at = end + 1;
      } else {
        out += '$';
        ++at;
      }
    }
    Take(std::move(out), whole);
  }

 private:
  void Fail(std::string what) { problems_.Fail(node_.place, std::move(what)); }

  void Take(std::string value, bool whole) {
    if (value == node_.text) return;
    node_.text = std::move(value);
    if (node_.quoted) return;
    if (!whole) {
      node_.quoted = true;  // made of parts: text
    } else if (node_.text.empty()) {
      node_.kind = Node::Kind::kNull;
    }
  }

  // None: there was an error.
  std::optional<std::string> Value(std::string_view inside) {
    if (inside.contains("${")) {
      Fail("a reference inside a reference; only `${env:NAME:-default}` is possible");
      return std::nullopt;
    }
    std::string_view name = inside;
    std::optional<std::string> otherwise;
    if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
      if (inside.substr(0, colon) != "env") {
        Fail(
            fmt::format("`${{{}}}`: only the environment can be referred to: `${{env:NAME}}` or "
                        "`${{env:NAME:-default}}`",
                        inside));
        return std::nullopt;
      }
      name = inside.substr(colon + 1);
      if (const std::size_t mark = name.find(":-"); mark != std::string_view::npos) {
        otherwise = std::string(name.substr(mark + 2));
        name = name.substr(0, mark);
      }
    }
    if (!IsVariableName(name)) {
      Fail(fmt::format("`{}` is not the name of a variable", name));
      return std::nullopt;
    }
    auto value = lookup_(std::string(name));
    if (!value && !otherwise) {
      problems_.Warn(node_.place,
                     fmt::format("the variable {} is not set; it counts as empty", name));
    }
    if (value) return value;
    return otherwise.value_or("");
  }

  Node& node_;
  const Lookup& lookup_;
  Problems& problems_;
};

}  // namespace

std::optional<std::string> FromEnvironment(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment once threads run
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void ReplaceReferences(Node& node, const Lookup& lookup, Problems& problems) {
  if (node.kind == Node::Kind::kScalar && node.text.contains('$')) {
    Replacement(node, lookup, problems).Run();
  }
  for (Node& item : node.items) ReplaceReferences(item, lookup, problems);
  for (Entry& entry : node.entries) ReplaceReferences(entry.value, lookup, problems);
}

}  // namespace wherefore::gateway
