// A small JFR writer for tests and benchmarks: classes, pools and events of one chunk, with either
// integer encoding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wherefore::formats::testing {

// A sequence of encoded values.
class JfrBytes {
 public:
  explicit JfrBytes(bool compressed) : compressed_(compressed) {}

  JfrBytes& Byte(int v) {
    out_ += static_cast<char>(v);
    return *this;
  }
  JfrBytes& Fixed(std::uint64_t v, int width) {
    for (int i = width - 1; i >= 0; --i) Byte(static_cast<int>(v >> (8 * i) & 0xff));
    return *this;
  }
  JfrBytes& Integer(std::uint64_t v, int width) {
    if (!compressed_) return Fixed(v, width);
    for (int i = 0; i < 8; ++i, v >>= 7) {
      if (v < 0x80) return Byte(static_cast<int>(v));
      Byte(static_cast<int>((v & 0x7f) | 0x80));
    }
    return Byte(static_cast<int>(v));
  }
  JfrBytes& Int(std::int64_t v) { return Integer(static_cast<std::uint32_t>(v), 4); }
  JfrBytes& Long(std::int64_t v) { return Integer(static_cast<std::uint64_t>(v), 8); }
  JfrBytes& Text(std::string_view v, int form = 3) {
    Byte(form).Int(static_cast<std::int64_t>(v.size()));
    if (form != 4) return Raw(v);
    for (const char c : v) Integer(static_cast<std::uint8_t>(c), 2);
    return *this;
  }
  JfrBytes& Raw(std::string_view v) {
    out_ += v;
    return *this;
  }
  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  bool compressed_;
  std::string out_;
};

class JfrWriter {
 public:
  struct Field {
    std::string name;
    int type = 0;
    bool pooled = false;
    bool array = false;
  };
  // Class numbers of the classes every chunk has.
  enum : std::uint8_t {
    kBoolean = 10,
    kInt,
    kLong,
    kString,
    kFloat,
    kThread = 20,
    kClass,
    kSymbol,
    kMethod,
    kStackTrace,
    kStackFrame,
    kFrameType,
    kThreadState
  };

  explicit JfrWriter(bool compressed = true, std::int64_t ticks_per_second = 1'000'000'000)
      : compressed_(compressed), ticks_per_second_(ticks_per_second) {
    Define(kBoolean, "boolean", {});
    Define(kInt, "int", {});
    Define(kLong, "long", {});
    Define(kString, "java.lang.String", {});
    Define(kFloat, "float", {});
    Define(kThread, "java.lang.Thread",
           {{"osName", kString}, {"osThreadId", kLong}, {"javaName", kString}});
    Define(kClass, "java.lang.Class", {{"classLoader", kLong}, {"name", kSymbol, true}});
    Define(kSymbol, "jdk.types.Symbol", {{"string", kString}});
    Define(kMethod, "jdk.types.Method",
           {{"type", kClass, true}, {"name", kSymbol, true}, {"hidden", kBoolean}});
    Define(kStackTrace, "jdk.types.StackTrace",
           {{"truncated", kBoolean}, {"frames", kStackFrame, false, true}});
    Define(kStackFrame, "jdk.types.StackFrame",
           {{"method", kMethod, true}, {"lineNumber", kInt}, {"type", kFrameType, true}});
    Define(kFrameType, "jdk.types.FrameType", {{"description", kString}});
    Define(kThreadState, "jdk.types.ThreadState", {{"name", kString}});
  }

  void Define(int id, std::string name, std::vector<Field> fields) {
    classes_[id] = {std::move(name), std::move(fields)};
  }
  [[nodiscard]] JfrBytes Bytes() const { return JfrBytes(compressed_); }
  void Constant(int type, std::int64_t key, const JfrBytes& value) {
    pools_[type].emplace_back(key, value.str());
  }
  void Event(int type, const JfrBytes& payload) { events_ += Framed(type, payload.str()); }

  // Adds symbols, class and method under the same key.
  void Method(std::int64_t key, std::string_view type, std::string_view name) {
    Constant(kSymbol, 1000 + 2 * key, Bytes().Text(type));
    Constant(kSymbol, 1001 + 2 * key, Bytes().Text(name));
    Constant(kClass, key, Bytes().Long(0).Long(1000 + 2 * key));
    Constant(kMethod, key, Bytes().Long(key).Long(1001 + 2 * key).Byte(0));
  }
  // Leaf first: method and line. All frames are of frame type 1.
  void Stack(std::int64_t key, const std::vector<std::pair<std::int64_t, int>>& frames) {
    JfrBytes b = Bytes().Byte(0).Int(static_cast<std::int64_t>(frames.size()));
    for (const auto& [method, line] : frames) b.Long(method).Int(line).Long(1);
    Constant(kStackTrace, key, b);
  }

  // The whole chunk. Pools are in two checkpoints, one before and one after the events.
  [[nodiscard]] std::string Finish() const {
    std::string body;
    const std::size_t metadata = kHeader;
    body += Framed(0, Metadata());
    std::map<int, std::vector<std::pair<std::int64_t, std::string>>> first = pools_;
    std::map<int, std::vector<std::pair<std::int64_t, std::string>>> second;
    for (auto& [type, entries] : first) {
      const auto half = static_cast<std::ptrdiff_t>(entries.size() / 2);
      second[type].assign(entries.begin() + half, entries.end());
      entries.erase(entries.begin() + half, entries.end());
    }
    const std::size_t earlier = kHeader + body.size();
    body += Framed(1, Checkpoint(first, 0));
    body += events_;
    const std::size_t last = kHeader + body.size();
    body += Framed(1, Checkpoint(second, static_cast<std::int64_t>(earlier) -
                                             static_cast<std::int64_t>(last)));
    JfrBytes head(false);
    head.Raw(std::string_view("FLR\0", 4)).Fixed(2, 2).Fixed(1, 2).Fixed(kHeader + body.size(), 8);
    head.Fixed(last, 8).Fixed(metadata, 8).Fixed(kStartNs, 8).Fixed(kDurationNs, 8).Fixed(0, 8);
    head.Fixed(static_cast<std::uint64_t>(ticks_per_second_), 8).Fixed(compressed_ ? 1 : 0, 4);
    return head.str() + body;
  }

  static constexpr std::uint64_t kStartNs = 1'700'000'000'000'000'000;
  static constexpr std::uint64_t kDurationNs = 10'000'000'000;

 private:
  static constexpr std::size_t kHeader = 68;

  // An event with its size in four bytes, in either encoding.
  [[nodiscard]] std::string Framed(int type, const std::string& payload) const {
    const std::string tail = Bytes().Long(type).Raw(payload).str();
    const std::size_t size = tail.size() + 4;
    JfrBytes out(compressed_);
    if (!compressed_) return out.Fixed(size, 4).Raw(tail).str();
    for (unsigned i = 0; i < 4; ++i) {
      out.Byte(static_cast<int>((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80U : 0U)));
    }
    return out.Raw(tail).str();
  }
  [[nodiscard]] std::string Checkpoint(
      const std::map<int, std::vector<std::pair<std::int64_t, std::string>>>& pools,
      std::int64_t delta) const {
    JfrBytes out = Bytes();
    out.Long(0).Long(0).Long(delta).Byte(0).Int(static_cast<std::int64_t>(pools.size()));
    for (const auto& [type, entries] : pools) {
      out.Long(type).Int(static_cast<std::int64_t>(entries.size()));
      for (const auto& [key, value] : entries) out.Long(key).Raw(value);
    }
    return out.str();
  }
  [[nodiscard]] std::string Metadata() const {
    std::vector<std::string> strings;
    JfrBytes tree = Bytes();
    const auto text = [&](std::string s) {
      strings.push_back(std::move(s));
      tree.Int(static_cast<std::int64_t>(strings.size() - 1));
    };
    const auto pair = [&](std::string key, std::string value) {
      text(std::move(key));
      text(std::move(value));
    };
    text("root");
    tree.Int(0).Int(1);
    text("metadata");
    tree.Int(0).Int(static_cast<std::int64_t>(classes_.size()));
    for (const auto& [id, described] : classes_) {
      text("class");
      tree.Int(2);
      pair("id", std::to_string(id));
      pair("name", described.first);
      tree.Int(static_cast<std::int64_t>(described.second.size()));
      for (const Field& f : described.second) {
        text("field");
        tree.Int(2 + (f.pooled ? 1 : 0) + (f.array ? 1 : 0));
        pair("name", f.name);
        pair("class", std::to_string(f.type));
        if (f.pooled) pair("constantPool", "true");
        if (f.array) pair("dimension", "1");
        tree.Int(0);
      }
    }
    JfrBytes out = Bytes();
    out.Long(0).Long(0).Long(1).Int(static_cast<std::int64_t>(strings.size()));
    for (const std::string& s : strings) out.Text(s);
    return out.Raw(tree.str()).str();
  }

  bool compressed_;
  std::int64_t ticks_per_second_;
  std::map<int, std::pair<std::string, std::vector<Field>>> classes_;
  std::map<int, std::vector<std::pair<std::int64_t, std::string>>> pools_;
  std::string events_;
};

}  // namespace wherefore::formats::testing
