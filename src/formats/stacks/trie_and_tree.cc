// Pyroscope's two binary stack formats. Both are the nodes of a tree, parents first: length of the
// name, name, value, number of children, each number a LEB128 varint. In a trie the names are
// pieces of folded text that are joined along the path; in a tree each is a whole frame.
//
// For what always holds see formats.h. A node's children are announced before they come, so the
// depth of the work list is bounded by the size of the input.
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <protozero/varint.hpp>

#include "formats/formats.h"
#include "formats/stacks/stack_batch.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

struct Node {
  std::string_view name;
  std::int64_t value = 0;
  std::uint64_t children = 0;
};

class NodeReader {
 public:
  explicit NodeReader(std::string_view bytes)
      : begin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool done() const { return at_ == end_; }
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // Returns "" or an error. Throws protozero's exceptions if a number is truncated.
  std::string_view Read(Node& node) {
    const std::uint64_t length = protozero::decode_varint(&at_, end_);
    if (length > left()) return "the name is longer than the rest of the data";
    node.name = {at_, static_cast<std::size_t>(length)};
    at_ += length;
    const std::uint64_t value = protozero::decode_varint(&at_, end_);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return "the value does not fit 63 bits";
    }
    node.value = static_cast<std::int64_t>(value);
    node.children = protozero::decode_varint(&at_, end_);
    constexpr std::uint64_t kSmallestNode = 3;
    if (node.children > left() / kSmallestNode) return "more children than the rest can hold";
    return "";
  }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
};

// Calls enter(node) for every node, which returns "" or an error, and leave() after its last child.
template <typename Enter, typename Leave>
Result<> Walk(std::string_view bytes, Enter enter, Leave leave) {
  NodeReader reader(bytes);
  std::vector<std::uint64_t> open;  // children still to come, by depth
  std::size_t offset = 0;
  try {
    do {
      offset = reader.offset();
      Node node;
      std::string_view wrong = reader.Read(node);
      if (wrong.empty()) wrong = enter(node);
      if (!wrong.empty()) {
        return Error(Code::kCorrupt, fmt::format("node at byte {}: {}", offset, wrong));
      }
      open.push_back(node.children);
      while (!open.empty() && open.back() == 0) {
        open.pop_back();
        leave();
        if (!open.empty()) --open.back();
      }
    } while (!open.empty());
  } catch (const protozero::exception&) {
    return Error(Code::kCorrupt, fmt::format("node at byte {}: the data ends in it", offset));
  }
  if (!reader.done()) {
    return Error(Code::kCorrupt,
                 fmt::format("byte {}: data behind the last node", reader.offset()));
  }
  return {};
}

constexpr std::string_view kTooLarge = "the stacks written out would be too large";

}  // namespace

Result<DecodedProfiles> DecodeTrie(const std::shared_ptr<const std::string>& bytes,
                                   const StacksContext& context) {
  // A path is joined from pieces and in no buffer yet. It is collected here first, because names
  // are views.
  struct Stack {
    std::size_t end;
    std::int64_t value;
  };
  constexpr std::size_t kAlwaysFine = std::size_t{16} << 20;
  const std::size_t most = kAlwaysFine + 16 * bytes->size();
  auto text = std::make_shared<std::string>();
  std::vector<Stack> stacks;
  std::string path;
  std::vector<std::size_t> lengths;
  WHEREFORE_RETURN_IF_ERROR(Walk(
      *bytes,
      [&](const Node& node) -> std::string_view {
        lengths.push_back(path.size());
        path += node.name;
        if (node.value == 0) return "";
        if (text->size() + path.size() > most) return kTooLarge;
        *text += path;
        stacks.push_back({text->size(), node.value});
        return "";
      },
      [&] {
        path.resize(lengths.back());
        lengths.pop_back();
      }));
  StackBatch batch(text);
  std::size_t begin = 0;
  for (const Stack& stack : stacks) {
    batch.AddFolded(std::string_view(*text).substr(begin, stack.end - begin), stack.value);
    begin = stack.end;
  }
  return batch.Finish(context);
}

Result<DecodedProfiles> DecodeTree(const std::shared_ptr<const std::string>& bytes,
                                   const StacksContext& context) {
  StackBatch batch(bytes);
  std::vector<profile::Id> path;  // root first; 0 for the nameless root
  std::vector<profile::Id> leaf_first;
  WHEREFORE_RETURN_IF_ERROR(Walk(
      *bytes,
      [&](const Node& node) -> std::string_view {
        path.push_back(node.name.empty() && path.empty() ? 0 : batch.Frame(node.name));
        if (node.value == 0) return "";
        leaf_first.assign(path.rbegin(), path.rend());
        if (leaf_first.back() == 0) leaf_first.pop_back();
        batch.Add(leaf_first, node.value);
        return batch.TooLarge() ? kTooLarge : "";
      },
      [&] { path.pop_back(); }));
  return batch.Finish(context);
}

}  // namespace wherefore::formats
