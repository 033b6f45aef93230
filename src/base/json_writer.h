// Writes compact JSON into a string. The caller opens and closes objects in order; commas are added
// here. Not thread-safe.
//
// 64-bit numbers beyond 2^53 are written as decimal strings, because JavaScript would round them.
// Bytes that are not UTF-8 become U+FFFD, so the output is always valid JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace wherefore {

void AppendJsonString(std::string& out, std::string_view text);

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view key) {
    Comma();
    AppendJsonString(out_, key);
    out_ += ':';
    need_comma_ = false;
    return *this;
  }
  JsonWriter& String(std::string_view text) {
    Comma();
    AppendJsonString(out_, text);
    return Done();
  }
  JsonWriter& Int(std::int64_t value) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    Comma();
    const bool quote = value > kExact || value < -kExact;
    if (quote) out_ += '"';
    fmt::format_to(std::back_inserter(out_), "{}", value);
    if (quote) out_ += '"';
    return Done();
  }
  JsonWriter& Double(double value) {
    Comma();
    fmt::format_to(std::back_inserter(out_), "{}", std::isfinite(value) ? value : 0.0);
    return Done();
  }
  JsonWriter& Bool(bool value) {
    Comma();
    out_ += value ? "true" : "false";
    return Done();
  }
  JsonWriter& Null() {
    Comma();
    out_ += "null";
    return Done();
  }
  // `json` must be valid JSON.
  JsonWriter& Raw(std::string_view json) {
    Comma();
    out_ += json;
    return Done();
  }
  JsonWriter& Field(std::string_view key, std::string_view value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, const char* value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, bool value) { return Key(key).Bool(value); }
  JsonWriter& Field(std::string_view key, double value) { return Key(key).Double(value); }
  template <std::integral T>
  JsonWriter& Field(std::string_view key, T value) {
    return Key(key).Int(static_cast<std::int64_t>(value));
  }

 private:
  void Comma() {
    if (need_comma_) out_ += ',';
  }
  JsonWriter& Done() {
    need_comma_ = true;
    return *this;
  }
  JsonWriter& Open(char c) {
    Comma();
    out_ += c;
    need_comma_ = false;
    return *this;
  }
  JsonWriter& Close(char c) {
    out_ += c;
    return Done();
  }

  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace wherefore
