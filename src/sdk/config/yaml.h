// The part of YAML that configuration files use, by hand: the library lives in a stranger's
// process and brings no YAML library along.
//
// Read: block mappings by indentation, block and one-line lists, one-line mappings, plain and
// quoted scalars, comments, a byte order mark. Not read: anchors, tags, block scalars (| and >),
// several documents, tabs as indentation. Such a line becomes a note with its number and is left
// out; nothing fails. Pure function; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::sdk {

// One scalar and where it stood: "cpu: {enabled: true}" is path (cpu, enabled), value "true". The
// items of a list follow each other under the same path.
struct YamlScalar {
  std::vector<std::string> path;
  std::string value;
  int line = 0;  // from 1
};

struct YamlNote {
  int line = 0;
  std::string text;
};

// A key that was there before. What it holds follows what the first one held.
struct YamlRepeated {
  std::vector<std::string> path;
  int line = 0;
  int first_line = 0;
  std::size_t scalar = 0;  // the index of the first scalar that comes after it
  bool inside = false;     // of another such key
};

struct YamlDocument {
  std::vector<YamlScalar> scalars;
  std::vector<YamlRepeated> repeated;  // in the order of the file
  std::vector<YamlNote> notes;         // what could not be read
};

[[nodiscard]] YamlDocument ReadYaml(std::string_view text);

}  // namespace wherefore::sdk
