// Folded stacks ("root;child;leaf 12"), both directions, and lines that count once each.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/stacks/stack_batch.h"
#include "formats/wire/notes.h"

namespace wherefore::formats {

namespace {

constexpr std::string_view kNoNumber = "a stack, a space and a number are expected";

// Splits "stack 12" at its last blank. Returns "" or an error.
std::string_view AddLine(std::string_view line, StackBatch& batch) {
  const std::size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos) return kNoNumber;
  const std::optional<std::int64_t> value = ParseInt(line.substr(space + 1));
  if (!value) return "the line does not end in a whole number";
  std::string_view names = line.substr(0, space);
  while (names.ends_with(' ') || names.ends_with('\t')) names.remove_suffix(1);
  batch.AddFolded(names, *value);
  return "";
}

// Counts the line once.
std::string_view AddBareLine(std::string_view line, StackBatch& batch) {
  batch.AddFolded(line, 1);
  return "";
}

template <typename Add>
Result<DecodedProfiles> DecodeText(const std::shared_ptr<const std::string>& text,
                                   const StacksContext& context, Add add) {
  StackBatch batch(text);
  Notes notes;
  std::string_view rest = *text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view wrong = add(line, batch);
    if (wrong == kNoNumber && context.skip_odd_lines) {
      notes.Add(fmt::format("line {} was left out: {}", number, wrong));
    } else if (!wrong.empty()) {
      return Error(Code::kCorrupt, fmt::format("line {}: {}", number, wrong));
    }
  }
  if (batch.size() == 0) return Error(Code::kCorrupt, "no stacks in this file");
  WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles decoded, batch.Finish(context));
  decoded.message = notes.Text();
  return decoded;
}

// Makes a name safe for a line: no separator, no line end.
void AppendName(std::string& out, std::string_view name) {
  for (const char c : name) out += c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
}

}  // namespace

Result<DecodedProfiles> DecodeFolded(const std::shared_ptr<const std::string>& text,
                                     const StacksContext& context) {
  return DecodeText(text, context, AddLine);
}

Result<DecodedProfiles> DecodeLines(const std::shared_ptr<const std::string>& text,
                                    const StacksContext& context) {
  return DecodeText(text, context, AddBareLine);
}

std::string EncodeFolded(const profile::FlameTree& tree, std::span<const std::int64_t> before) {
  std::string out;
  std::string path;
  std::vector<std::size_t> ends;  // where the path of each depth ends
  for (std::size_t node = 1; node < tree.size(); ++node) {
    const std::size_t depth = tree.depth[node];
    ends.resize(depth);
    path.resize(ends.empty() || depth == 1 ? 0 : ends[depth - 2]);
    if (depth > 1) path += ';';
    AppendName(path, tree.Name(node));
    ends[depth - 1] = path.size();
    if (!before.empty() && (tree.self[node] != 0 || before[node] != 0)) {
      out += fmt::format("{} {} {}\n", path, before[node], tree.self[node]);
    } else if (before.empty() && tree.self[node] != 0) {
      out += fmt::format("{} {}\n", path, tree.self[node]);
    }
  }
  return out;
}

}  // namespace wherefore::formats
