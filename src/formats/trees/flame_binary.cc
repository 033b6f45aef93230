#include "formats/trees/flame_binary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace wherefore::formats {
namespace {

using profile::FlameFunction;
using profile::FlameTree;

constexpr std::string_view kMagic("FG1\0", 4);
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kEntryBytes = 16;

// Sent to browsers: never renumber.
enum Section : std::uint16_t {
  kMeta = 1,
  kStrings = 2,
  kFunctions = 3,
  kPops = 4,
  kFunction = 5,
  kSelf = 6,  // twice for a diff: after, then before
  kHidden = 7,
  kCount = 10,  // likewise
  kVerdict = 11,
};
enum Encoding : std::uint16_t { kRaw = 0, kVarint = 1, kZigzag = 2 };

void PutVarint(std::string& out, std::uint64_t v) {
  while (v >= 0x80) {
    out += static_cast<char>(v | 0x80);
    v >>= 7;
  }
  out += static_cast<char>(v);
}
void PutZigzag(std::string& out, std::int64_t v) {
  PutVarint(out, static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63));
}
template <typename T>
void PutFixed(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

struct Pending {
  std::uint16_t id;
  std::uint16_t encoding;
  std::uint32_t count;
  std::string bytes;
};

// Sorted, unique strings: neighbours share prefixes, so names compress well.
class StringTable {
 public:
  explicit StringTable(const FlameTree& tree) {
    ids_[""];
    for (const FlameFunction& f : tree.functions) {
      ids_[f.name];
      ids_[f.module];
      ids_[f.file];
    }
    std::uint32_t next = 0;
    for (auto& [text, id] : ids_) id = next++;
  }
  [[nodiscard]] std::uint32_t Id(std::string_view text) const { return ids_.find(text)->second; }
  [[nodiscard]] Pending Encode() const {
    Pending p{kStrings, kRaw, static_cast<std::uint32_t>(ids_.size()), {}};
    for (const auto& [text, id] : ids_) PutVarint(p.bytes, text.size());
    for (const auto& [text, id] : ids_) p.bytes += text;
    return p;
  }

 private:
  std::map<std::string_view, std::uint32_t, std::less<>> ids_;
};

Pending EncodeFunctions(const FlameTree& tree, const StringTable& strings) {
  Pending p{kFunctions, kVarint, static_cast<std::uint32_t>(tree.functions.size()), {}};
  const auto column = [&](auto value) {
    for (const FlameFunction& f : tree.functions) PutVarint(p.bytes, value(f));
  };
  column([&](const FlameFunction& f) { return strings.Id(f.name); });
  column([](const FlameFunction&) { return 0u; });  // full name, if the first one is a short form
  column([&](const FlameFunction& f) { return strings.Id(f.file); });
  column([](const FlameFunction& f) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(f.start_line, 0));
  });
  column([&](const FlameFunction& f) { return strings.Id(f.module); });
  column([](const FlameFunction& f) { return static_cast<unsigned>(f.kind); });
  return p;
}

Pending EncodeSigned(std::uint16_t id, std::span<const std::int64_t> values) {
  Pending p{id, kZigzag, static_cast<std::uint32_t>(values.size()), {}};
  for (const std::int64_t v : values) PutZigzag(p.bytes, v);
  return p;
}

// --- decoding ---

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  bool Varint(std::uint64_t* v) {
    *v = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      *v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Zigzag(std::int64_t* v) {
    std::uint64_t u = 0;
    if (!Varint(&u)) return false;
    *v = static_cast<std::int64_t>(u >> 1) ^ -static_cast<std::int64_t>(u & 1);
    return true;
  }
  bool Bytes(std::size_t n, std::string_view* out) {
    if (n > rest_.size()) return false;
    *out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

struct Entry {
  std::uint16_t id = 0;
  std::uint32_t count = 0;
  std::string_view bytes;
};

Error Corrupt(std::string_view what) {
  return {Code::kCorrupt, fmt::format("flame graph: {}", what)};
}

Result<std::vector<Entry>> ReadTable(std::string_view bytes) {
  std::uint16_t version = 0;
  std::uint16_t sections = 0;
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return Corrupt("not an FG1 file");
  std::memcpy(&version, bytes.data() + 4, 2);
  std::memcpy(&sections, bytes.data() + 6, 2);
  if (version != kVersion) return Corrupt(fmt::format("unknown version {}", version));
  if (bytes.size() < kHeaderBytes + sections * kEntryBytes)
    return Corrupt("section table cut short");
  std::vector<Entry> entries(sections);
  for (std::size_t i = 0; i < sections; ++i) {
    const char* p = bytes.data() + kHeaderBytes + i * kEntryBytes;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::memcpy(&entries[i].id, p, 2);
    std::memcpy(&entries[i].count, p + 4, 4);
    std::memcpy(&offset, p + 8, 4);
    std::memcpy(&length, p + 12, 4);
    if (offset > bytes.size() || length > bytes.size() - offset)
      return Corrupt("section outside the file");
    // An entry takes at least a byte, so a count cannot make us allocate more than the file's size.
    if (entries[i].id != kMeta && entries[i].count > length)
      return Corrupt("more entries than bytes");
    entries[i].bytes = bytes.substr(offset, length);
  }
  return entries;
}

Result<std::vector<std::string_view>> ReadStrings(const Entry& entry) {
  Cursor in(entry.bytes);
  std::vector<std::uint64_t> lengths(entry.count);
  for (std::uint64_t& n : lengths) {
    if (!in.Varint(&n)) return Corrupt("strings");
  }
  std::vector<std::string_view> strings(entry.count);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (!in.Bytes(lengths[i], &strings[i])) return Corrupt("strings");
  }
  return strings;
}

Result<> ReadFunctions(const Entry& entry, const std::vector<std::string_view>& strings,
                       FlameTree& tree) {
  Cursor in(entry.bytes);
  tree.functions.resize(entry.count);
  for (int column = 0; column < 6; ++column) {
    for (FlameFunction& f : tree.functions) {
      std::uint64_t v = 0;
      if (!in.Varint(&v)) return Corrupt("functions");
      const bool is_text = column == 0 || column == 1 || column == 2 || column == 4;
      if (is_text && v >= strings.size()) return Corrupt("functions: string out of range");
      switch (column) {
        case 0:
          f.name = strings[v];
          break;
        case 2:
          f.file = strings[v];
          break;
        case 3:
          f.start_line = static_cast<std::int64_t>(v);
          break;
        case 4:
          f.module = strings[v];
          break;
        case 5:
          if (v > static_cast<std::uint64_t>(profile::FrameKind::kOther))
            return Corrupt("functions: kind");
          f.kind = static_cast<profile::FrameKind>(v);
          break;
        default:
          break;
      }
    }
  }
  return {};
}

Result<> ReadShape(const Entry& entry, FlameTree& tree) {
  Cursor in(entry.bytes);
  for (std::uint32_t i = 0; i < entry.count; ++i) {
    std::uint64_t pops = 0;
    if (!in.Varint(&pops)) return Corrupt("pops");
    const std::uint64_t parent_depth = i == 0 ? 0 : tree.depth.back();
    if (i > 0 && pops > parent_depth) return Corrupt("pops: above the root");
    tree.depth.push_back(i == 0 ? 0 : static_cast<std::uint32_t>(parent_depth + 1 - pops));
    if (i > 0 && tree.depth.back() == 0) return Corrupt("pops: two roots");
  }
  return {};
}

Result<std::vector<std::int64_t>> ReadSigned(const Entry& entry) {
  Cursor in(entry.bytes);
  std::vector<std::int64_t> values(entry.count);
  for (std::int64_t& v : values) {
    if (!in.Zigzag(&v)) return Corrupt("values");
  }
  return values;
}

}  // namespace

std::string EncodeFlameBinary(const FlameTree& tree, std::string_view meta,
                              const FlameBefore& before) {
  const StringTable strings(tree);
  std::vector<Pending> sections;
  sections.push_back({kMeta, kRaw, 1, std::string(meta)});
  sections.push_back(strings.Encode());
  sections.push_back(EncodeFunctions(tree, strings));
  const auto nodes = static_cast<std::uint32_t>(tree.size());
  Pending pops{kPops, kVarint, nodes, {}};
  Pending function{kFunction, kVarint, nodes, {}};
  Pending hidden{kHidden, kVarint, 0, {}};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    PutVarint(pops.bytes, i == 0 ? 0 : tree.depth[i - 1] + 1 - tree.depth[i]);
    PutVarint(function.bytes, tree.function[i]);
    if (tree.hidden_nodes[i] == 0) continue;
    ++hidden.count;
    PutVarint(hidden.bytes, i);
    PutVarint(hidden.bytes, tree.hidden_nodes[i]);
  }
  sections.push_back(std::move(pops));
  sections.push_back(std::move(function));
  sections.push_back(EncodeSigned(kSelf, tree.self));
  if (!before.self.empty()) sections.push_back(EncodeSigned(kSelf, before.self));
  sections.push_back(EncodeSigned(kCount, tree.self_count));
  if (!before.count.empty()) sections.push_back(EncodeSigned(kCount, before.count));
  if (!before.verdict.empty()) sections.push_back(EncodeSigned(kVerdict, before.verdict));
  sections.push_back(std::move(hidden));

  std::string out(kMagic);
  PutFixed(out, kVersion);
  PutFixed(out, static_cast<std::uint16_t>(sections.size()));
  std::size_t offset = kHeaderBytes + sections.size() * kEntryBytes;
  for (const Pending& s : sections) {
    PutFixed(out, s.id);
    PutFixed(out, s.encoding);
    PutFixed(out, s.count);
    PutFixed(out, static_cast<std::uint32_t>(offset));
    PutFixed(out, static_cast<std::uint32_t>(s.bytes.size()));
    offset += s.bytes.size();
  }
  out.reserve(offset);
  for (const Pending& s : sections) out += s.bytes;
  return out;
}

Result<DecodedFlame> DecodeFlameBinary(std::string_view bytes) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadTable(bytes));
  DecodedFlame out;
  std::vector<std::string_view> strings;
  for (const Entry& e : entries) {
    if (e.id == kMeta) out.meta = e.bytes;
    if (e.id != kStrings) continue;
    WHEREFORE_ASSIGN_OR_RETURN(strings, ReadStrings(e));
  }
  for (const Entry& e : entries) {
    switch (e.id) {
      case kFunctions:
        WHEREFORE_RETURN_IF_ERROR(ReadFunctions(e, strings, out.tree));
        break;
      case kPops:
        if (out.tree.depth.empty()) WHEREFORE_RETURN_IF_ERROR(ReadShape(e, out.tree));
        break;
      case kFunction: {
        Cursor in(e.bytes);
        out.tree.function.assign(e.count, 0);
        for (std::uint32_t& f : out.tree.function) {
          std::uint64_t v = 0;
          if (!in.Varint(&v) || v > UINT32_MAX) return Corrupt("function column");
          f = static_cast<std::uint32_t>(v);
        }
        break;
      }
      case kSelf: {
        auto& column = out.tree.self.empty() ? out.tree.self : out.before_self;
        WHEREFORE_ASSIGN_OR_RETURN(column, ReadSigned(e));
        break;
      }
      case kCount: {
        auto& column = out.tree.self_count.empty() ? out.tree.self_count : out.before_count;
        WHEREFORE_ASSIGN_OR_RETURN(column, ReadSigned(e));
        break;
      }
      case kVerdict: {
        WHEREFORE_ASSIGN_OR_RETURN(out.verdict, ReadSigned(e));
        break;
      }
      default:
        break;  // unknown sections are for newer readers
    }
  }
  FlameTree& tree = out.tree;
  const std::size_t nodes = tree.depth.size();
  if (nodes == 0 || tree.function.size() != nodes || tree.self.size() != nodes ||
      tree.self_count.size() != nodes ||
      (!out.before_self.empty() && out.before_self.size() != nodes) ||
      (!out.before_count.empty() && out.before_count.size() != nodes) ||
      (!out.verdict.empty() && out.verdict.size() != nodes)) {
    return Corrupt("columns differ in length");
  }
  for (const std::uint32_t f : tree.function) {
    if (f >= tree.functions.size()) return Corrupt("function out of range");
  }
  tree.hidden_nodes.assign(nodes, 0);
  for (const Entry& e : entries) {
    if (e.id != kHidden) continue;
    Cursor in(e.bytes);
    for (std::uint32_t i = 0; i < e.count; ++i) {
      std::uint64_t node = 0;
      std::uint64_t count = 0;
      if (!in.Varint(&node) || !in.Varint(&count) || node >= nodes) return Corrupt("hidden nodes");
      tree.hidden_nodes[node] = static_cast<std::uint32_t>(count);
    }
  }
  profile::AddUpTotals(tree);
  return out;
}

}  // namespace wherefore::formats
