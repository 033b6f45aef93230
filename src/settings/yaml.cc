#include "settings/yaml.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace wherefore::settings {
namespace {

// What is wrong and where. Caught in this file, like yaml-cpp's own exceptions.
struct Failure : std::runtime_error {
  Failure(Place at, const std::string& what) : std::runtime_error(what), place(std::move(at)) {}
  Place place;
};

std::size_t CountNodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += CountNodes(item);
  for (const Entry& entry : node.entries) count += CountNodes(entry.value);
  return count;
}

// Builds the tree from the parser's events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  [[nodiscard]] Node Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(NewNode(mark, Node::Kind::kNull), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    constexpr std::string_view kPlain = "?";
    Node node = NewNode(mark, Node::Kind::kScalar);
    node.quoted = tag != kPlain;
    node.written = value;
    node.text = value;
    if (!node.quoted && (value.empty() || value == "~" || value == "null")) {
      node.kind = Node::Kind::kNull;
    }
    Add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Failure(At(mark), "an alias inside the value it names");
    Count(found->second.count, At(mark));  // before anything is copied
    Add(found->second.node, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open_.push_back({NewNode(mark, Node::Kind::kList), anchor});
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open_.push_back({NewNode(mark, Node::Kind::kMap), anchor});
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or map whose end has not come yet.
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::string key;  // of the value that comes next
    Place key_place;
    bool has_key = false;
    std::vector<Entry> taken_over;  // by "<<"; entries of the map itself come first
  };
  struct Anchored {
    Node node;
    std::size_t count = 0;
  };

  [[nodiscard]] Place At(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }

  void Count(std::size_t nodes, const Place& place) {
    count_ += nodes;
    if (count_ <= kMaxConfigNodes) return;
    throw Failure(place,
                  fmt::format("more than {} values, aliases counted as often as they are used",
                              FormatCount(kMaxConfigNodes)));
  }

  Node NewNode(const YAML::Mark& mark, Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.place = At(mark);
    Count(1, node.place);
    return node;
  }

  void Close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    for (Entry& entry : done.taken_over) {
      if (done.node.Find(entry.key) == nullptr) done.node.entries.push_back(std::move(entry));
    }
    Add(std::move(done.node), done.anchor);
  }

  void Add(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      const std::size_t count = CountNodes(node);
      Count(count, node.place);  // the copy that is kept for aliases
      anchors_[anchor] = {node, count};
    }
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Open& in = open_.back(); in.node.kind == Node::Kind::kList) {
      in.node.items.push_back(std::move(node));
    } else if (!in.has_key) {
      TakeKey(in, node);
    } else {
      in.has_key = false;
      AddEntry(in, std::move(node));
    }
  }

  static void TakeKey(Open& in, const Node& key) {
    if (key.kind != Node::Kind::kScalar) {
      throw Failure(key.place, fmt::format("a key is a name, not {}", key.Description()));
    }
    in.has_key = true;
    in.key = key.text;
    in.key_place = key.place;
  }

  // "<<" takes over the entries of another map.
  static void AddEntry(Open& in, Node value) {
    if (in.key == "<<" && value.is_map()) {
      std::ranges::move(value.entries, std::back_inserter(in.taken_over));
      return;
    }
    const auto there = std::ranges::find(in.node.entries, in.key, &Entry::key);
    if (there == in.node.entries.end()) {
      in.node.entries.push_back({std::move(in.key), std::move(in.key_place), std::move(value)});
      return;
    }
    throw Failure(in.key_place,
                  fmt::format("`{}` is here twice; first in line {}", in.key, there->place.line));
  }

  const std::shared_ptr<const std::string> file_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t count_ = 0;
};

// The first line that is no UTF-8 text; 0: all are.
int LineOfBadText(std::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    if (!IsValidUtf8(one) || one.find('\0') != std::string_view::npos) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return 0;
}

}  // namespace

std::optional<Node> ParseYaml(std::string_view text, std::string_view file, Problems& problems) {
  const auto name = std::make_shared<const std::string>(file);
  const auto fail = [&](const Place& place, std::string what) {
    problems.Fail(place, std::move(what));
    return std::nullopt;
  };
  if (text.size() > kMaxConfigBytes) {
    return fail({name, 1, 1}, "a configuration has at most 1 MiB of text");
  }
  if (const int line = LineOfBadText(text); line != 0) {
    return fail({name, line, 1}, "this line is not text in UTF-8");
  }
  TreeBuilder builder(name);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(builder);
    Node root = builder.Take();
    if (parser.HandleNextDocument(builder)) {
      return fail(builder.Take().place, "a second document begins here; a configuration is one");
    }
    if (!root.place.file) root.place = {name, 1, 1};  // an empty file
    return root;
  } catch (const Failure& failure) {
    return fail(failure.place, failure.what());
  } catch (const YAML::Exception& e) {
    return fail({name, std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1}, e.msg);
  }
}

namespace {

// The value of "\uXXXX" at `at`; none: something else stands there.
std::optional<std::uint32_t> EscapedUnit(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 6;
  if (text.substr(at, 2) != "\\u" || text.size() - at < kLength) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = text.data() + at + kLength;
  const auto [stop, error] = std::from_chars(text.data() + at + 2, end, unit, 16);
  return error == std::errc() && stop == end ? std::optional(unit) : std::nullopt;
}

}  // namespace

std::optional<Node> ParseJsonBody(std::string_view text, std::string_view file,
                                  Problems& problems) {
  std::string joined;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      joined += text[at++];
      continue;
    }
    const auto high = EscapedUnit(text, at);
    const auto low = high ? EscapedUnit(text, std::min(at + 6, text.size())) : std::nullopt;
    if (high && low && *high >= 0xd800 && *high < 0xdc00 && *low >= 0xdc00 && *low < 0xe000) {
      joined += fmt::format("\\U{:08x}", 0x10000 + ((*high - 0xd800) << 10U) + (*low - 0xdc00));
      at += 12;
    } else {
      joined += text.substr(at, 2);  // so that an escaped backslash hides what follows it
      at += std::min<std::size_t>(2, text.size() - at);
    }
  }
  return ParseYaml(joined, file, problems);
}

}  // namespace wherefore::settings
