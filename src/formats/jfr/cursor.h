// Reads the primitive values of a JFR chunk from untrusted bytes.
//
// Integers are either compressed (7 bits per byte, lowest first, at most 9 bytes, the ninth whole)
// or big-endian of their own width; the chunk says which. Reading past the end returns 0 and makes
// the cursor fail permanently: callers loop while ok() and check once at the end. Plain values; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wherefore::formats {

// A string as stored in the file; JfrChunk::Text converts it to UTF-8.
struct JfrText {
  enum class Form : std::uint8_t { kNone, kUtf8, kLatin1, kChars, kPooled };
  Form form = Form::kNone;
  std::string_view bytes;   // as in the file; kChars are still encoded
  std::int64_t pooled = 0;  // key in the pool of java.lang.String
};

class JfrCursor {
 public:
  JfrCursor(std::string_view bytes, std::size_t at, bool compressed)
      : bytes_(bytes), at_(at), compressed_(compressed) {
    if (at > bytes.size()) Fail();
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool compressed() const { return compressed_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void Fail() {
    ok_ = false;
    at_ = bytes_.size();
  }

  std::uint8_t Byte() {
    if (at_ >= bytes_.size()) {
      Fail();
      return 0;
    }
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  // The next `width` bytes as a big-endian number.
  std::uint64_t Fixed(std::size_t width) {
    if (bytes_.size() - at_ < width) {
      Fail();
      return 0;
    }
    std::uint64_t value = 0;
    for (const std::size_t end = at_ + width; at_ < end; ++at_) {
      value = value << 8 | static_cast<std::uint8_t>(bytes_[at_]);
    }
    return value;
  }
  // A short, char, int or long.
  std::uint64_t Integer(std::size_t width) { return compressed_ ? Varint() : Fixed(width); }
  std::int64_t Long() { return static_cast<std::int64_t>(Integer(8)); }
  std::int64_t Int() { return static_cast<std::int32_t>(Integer(4)); }

  std::string_view Bytes(std::uint64_t count) {
    if (bytes_.size() - at_ < count) {
      Fail();
      return {};
    }
    const std::string_view out = bytes_.substr(at_, count);
    at_ += count;
    return out;
  }
  JfrText Text();

 private:
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 56; shift += 7) {
      const std::uint64_t byte = Byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return value | std::uint64_t{Byte()} << 56;
  }

  std::string_view bytes_;
  std::size_t at_;
  bool compressed_;
  bool ok_ = true;
};

inline JfrText JfrCursor::Text() {
  using Form = JfrText::Form;
  switch (Byte()) {
    case 0:  // null
    case 1:  // empty
      return {};
    case 2:
      return {Form::kPooled, {}, Long()};
    case 3:
      return {Form::kUtf8, Bytes(Integer(4)), 0};
    case 4: {
      const std::uint64_t count = Integer(4);
      const std::size_t begin = at_;
      if (!compressed_)
        return {Form::kChars, count > bytes_.size() ? Bytes(count) : Bytes(count * 2), 0};
      for (std::uint64_t i = 0; i < count && ok_; ++i) Varint();
      return {Form::kChars, bytes_.substr(begin, at_ - begin), 0};
    }
    case 5:
      return {Form::kLatin1, Bytes(Integer(4)), 0};
    default:
      Fail();
      return {};
  }
}

// The UTF-8 of a text that is not pooled. Invalid UTF-8 in the file stays invalid; the caller
// repairs it.
[[nodiscard]] std::string JfrUtf8(const JfrText& text, bool compressed);

}  // namespace wherefore::formats
