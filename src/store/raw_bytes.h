// Numbers in our files and row buffers, in the machine's byte order. Any thread.
//
// Load expects that the bytes are there: whoever reads a file has checked its lengths before.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace wherefore::store {

template <typename T>
void AppendRaw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
T Load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace wherefore::store
