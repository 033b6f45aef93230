// Folded stacks ("root;child;leaf 12"), both ways.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/utf8.h"

namespace wherefore::formats {

namespace {

using profile::Id;

std::uint32_t Size32(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

class FoldedDecoder {
 public:
  explicit FoldedDecoder(profile::Batch& batch) : b_(batch) {}

  // "" or what is wrong with the line.
  std::string_view AddLine(std::string_view line) {
    const std::size_t space = line.find_last_of(" \t");
    if (space == std::string_view::npos) return "a stack, a space and a number are expected";
    const std::optional<std::int64_t> value = ParseInt(line.substr(space + 1));
    if (!value) return "the line does not end in a whole number";
    std::string_view names = line.substr(0, space);
    while (names.ends_with(' ') || names.ends_with('\t')) names.remove_suffix(1);
    profile::Range stack{Size32(b_.stack_frames.size()), 0};
    // Leaf first in a Batch, root first in the text.
    while (!names.empty()) {
      const std::size_t cut = names.rfind(';');
      b_.stack_frames.push_back(
          FrameOf(cut == std::string_view::npos ? names : names.substr(cut + 1)));
      names = cut == std::string_view::npos ? std::string_view() : names.substr(0, cut);
    }
    stack.count = Size32(b_.stack_frames.size()) - stack.begin;
    if (stack.count == 0) return "the stack is empty";
    b_.stacks.push_back(stack);
    b_.values.push_back(*value);
    b_.samples.Append(Size32(b_.stacks.size() - 1), {}, 0, *value, {},
                      {Size32(b_.values.size() - 1), 1});
    return "";
  }

 private:
  Id FrameOf(std::string_view name) {
    const auto [it, is_new] = frames_.try_emplace(name, Size32(b_.frames.size()));
    if (!is_new) return it->second;
    const Id text = IsValidUtf8(name) ? b_.AddView(name) : b_.AddText(ReplaceBadUtf8(name));
    b_.functions.push_back({text, 0, 0, 0});
    b_.lines.push_back({Size32(b_.functions.size() - 1), 0, 0});
    b_.frames.push_back({0, 0, {Size32(b_.lines.size() - 1), 1}, {}});
    return it->second;
  }

  profile::Batch& b_;
  std::unordered_map<std::string_view, Id> frames_;
};

// A name as one part of a line: no separator, no line end.
void AppendName(std::string& out, std::string_view name) {
  for (const char c : name) out += c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
}

}  // namespace

Result<DecodedProfiles> DecodeFolded(std::shared_ptr<const std::string> text,
                                     const FoldedContext& context) {
  DecodedProfiles result;
  profile::Batch& b = result.data;
  FoldedDecoder decoder(b);
  std::string_view rest = *text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (const std::string_view wrong = decoder.AddLine(line); !wrong.empty()) {
      return Error(Code::kCorrupt, fmt::format("line {}: {}", number, wrong));
    }
  }
  b.Own(std::move(text));
  if (b.samples.size() == 0) return Error(Code::kCorrupt, "no stacks in this file");
  profile::Resource res;
  if (!context.service.empty()) {
    const Id key = b.AddText("service.name");
    const Id value = b.AddText(context.service);
    res.attributes = {Size32(b.own_attributes.size()), 1};
    b.own_attributes.push_back({key, 0, {profile::Value::Kind::kString, value, 0}});
  }
  b.resources.push_back(res);
  b.scopes.emplace_back();
  profile::Profile& p = b.profiles.emplace_back();
  p.resource = 1;
  p.scope = 1;
  p.sample_type.type = b.AddText(context.type);
  p.sample_type.unit = b.AddText(context.unit);
  p.sample_count = Size32(b.samples.size());
  return result;
}

std::string EncodeFolded(const profile::FlameTree& tree) {
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
    if (tree.self[node] != 0) out += fmt::format("{} {}\n", path, tree.self[node]);
  }
  return out;
}

}  // namespace wherefore::formats
