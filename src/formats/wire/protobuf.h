// Protobuf wire format on top of protozero, hardened for untrusted bytes.
//
// protozero throws if bytes end early or a varint is too long; decoders catch that once, at the
// top. Its getters only assert the wire type, so every field is selected by number AND wire type:
//   switch (r.tag_and_type()) { case LenKey(3): ...; default: r.skip(); }
// A known number with another wire type is skipped like an unknown field, as protobuf does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace wherefore::formats {

using Tag = std::uint32_t;  // a field number
using Pbf = protozero::pbf_reader;

// protozero's writer, except that it also writes empty submessages: element 0 of a table counts.
class PbfWriter : public protozero::pbf_writer {
  using Base = protozero::pbf_writer;

 public:
  explicit PbfWriter(std::string& out) : Base(out), out_(&out) {}
  // A submessage; complete when this object is destroyed or at commit().
  PbfWriter(PbfWriter& parent, Tag tag)
      : Base(parent, tag), out_(parent.out_), parent_(&parent), tag_(tag), start_(out_->size()) {}
  PbfWriter(const PbfWriter&) = delete;
  PbfWriter& operator=(const PbfWriter&) = delete;
  ~PbfWriter() { commit(); }

  void commit() {
    if (parent_ == nullptr) return;
    const bool empty = out_->size() == start_;
    Base::commit();
    if (empty) parent_->add_message(tag_, "", 0);
    parent_ = nullptr;
  }

 private:
  std::string* out_;
  PbfWriter* parent_ = nullptr;
  Tag tag_ = 0;
  std::size_t start_ = 0;
};

constexpr std::uint32_t VarintKey(Tag tag) {
  return tag << 3;
}
constexpr std::uint32_t Fixed64Key(Tag tag) {
  return (tag << 3) | 1;
}
constexpr std::uint32_t LenKey(Tag tag) {
  return (tag << 3) | 2;
}
constexpr std::uint32_t Fixed32Key(Tag tag) {
  return (tag << 3) | 5;
}

inline std::string_view GetView(Pbf& r) {
  const protozero::data_view v = r.get_view();
  return {v.data(), v.size()};
}
inline Pbf Reader(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

// Write a field unless it has its default value.
inline void AddText(PbfWriter& w, Tag tag, std::string_view text) {
  if (!text.empty()) w.add_string(tag, text.data(), text.size());
}
inline void AddUint(PbfWriter& w, Tag tag, std::uint64_t value) {
  if (value != 0) w.add_uint64(tag, value);
}
inline void AddInt(PbfWriter& w, Tag tag, std::int64_t value) {
  if (value != 0) w.add_int64(tag, value);
}

// For int32 fields: negative numbers have ten bytes and come out above 2^31, outside every table.
inline std::uint32_t GetIndex(Pbf& r) {
  return static_cast<std::uint32_t>(r.get_uint64());
}
// Not get_bool(): that asserts a one-byte value.
inline bool GetBool(Pbf& r) {
  return r.get_uint64() != 0;
}

// How many numbers a packed field has: each ends with a byte without the high bit.
[[nodiscard]] inline std::size_t CountVarints(std::string_view bytes) {
  return static_cast<std::size_t>(
      std::ranges::count_if(bytes, [](char c) { return static_cast<std::int8_t>(c) >= 0; }));
}

// Appends the varints of a packed field, cast to T. Reserves once; one- and two-byte numbers,
// nearly all there are, take a fast path.
template <typename T>
void AppendPackedVarints(std::string_view bytes, std::vector<T>& out) {
  const std::size_t old = out.size();
  out.resize(old + bytes.size());
  T* to = out.data() + old;
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (end - p >= 2) {
    const auto b0 = static_cast<std::uint8_t>(p[0]);
    const auto b1 = static_cast<std::uint8_t>(p[1]);
    if (b0 < 0x80) {
      *to++ = static_cast<T>(b0);
      ++p;
    } else if (b1 < 0x80) {
      *to++ = static_cast<T>((b0 & 0x7fU) | (std::uint32_t{b1} << 7));
      p += 2;
    } else {
      *to++ = static_cast<T>(protozero::decode_varint(&p, end));
    }
  }
  if (p < end) *to++ = static_cast<T>(protozero::decode_varint(&p, end));
  out.resize(static_cast<std::size_t>(to - out.data()));
}

template <typename T>
void AppendPackedFixed64(std::string_view bytes, std::vector<T>& out) {
  static_assert(sizeof(T) == 8);
  if (bytes.size() % 8 != 0) throw protozero::invalid_length_exception{};
  if (bytes.empty()) return;
  const std::size_t old = out.size();
  out.resize(old + bytes.size() / 8);
  std::memcpy(out.data() + old, bytes.data(), bytes.size());
}

}  // namespace wherefore::formats
