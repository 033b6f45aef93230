// Helpers for fuzz targets.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/result.h"

namespace wherefore::formats {

inline std::shared_ptr<const std::string> Input(const std::uint8_t* data, std::size_t size) {
  return std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
}
inline std::shared_ptr<const std::string> Input(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

// A property that holds for every input. Aborts otherwise, which is how a fuzzer notices.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken property: %s\n", what);
  std::abort();
}
template <typename T>
void RequireOk(const Result<T>& result, const char* what) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().message().c_str());
  Require(result.has_value(), what);
}

// Decoded data is valid, and encoding and decoding it again changes nothing.
template <typename Decoded, typename Encode, typename Decode>
void CheckStable(const Result<Decoded>& first, Encode encode, Decode decode) {
  if (!first) return;
  RequireOk(first->data.Validate(), "decoded data is valid");
  const std::string once = encode(first->data);
  const Result<Decoded> second = decode(Input(once));
  RequireOk(second, "our own bytes can be decoded");
  if (second->rejected != 0) std::fprintf(stderr, "%s\n", second->message.c_str());
  Require(second->rejected == 0, "nothing of our own bytes is rejected");
  RequireOk(second->data.Validate(), "data decoded again is valid");
  Require(encode(second->data) == once, "encoding is stable");
}

}  // namespace wherefore::formats
