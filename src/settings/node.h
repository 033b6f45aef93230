// Node: a value of a configuration, with the place it was written at.
//
// The tree is our own, not yaml-cpp's: it remembers file, line and column everywhere, bounds what
// aliases may grow to, and knows whether a value was quoted or came from the environment. Plain
// data; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::settings {

// Where something stands. Lines and columns count from 1; 0: the whole file.
struct Place {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  // "collector.yaml:12:5"
  [[nodiscard]] std::string Text() const;
};

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Place place;
  std::string text;     // kScalar: the value, references replaced
  std::string written;  // as it stands in the file, for messages: never a secret
  bool quoted = false;  // text and nothing else: "5" is no number
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order of the file; no key twice

  [[nodiscard]] bool is_null() const { return kind == Kind::kNull; }
  [[nodiscard]] bool is_map() const { return kind == Kind::kMap; }
  // The value under `key`; null if there is none or this is no map.
  [[nodiscard]] const Node* Find(std::string_view key) const;
  [[nodiscard]] Node* Find(std::string_view key);
  // "a list", "`5`", ...: what is here, for messages.
  [[nodiscard]] std::string Description() const;
};

struct Entry {
  std::string key;
  Place place;
  Node value;
};

// Puts `over` on top: maps deeply, everything else replaces what was there.
void Merge(Node& base, Node over);

}  // namespace wherefore::settings
