// Numbers in our files and row buffers, in the machine's byte order. Any thread.
//
// Load does not check bounds: whoever reads a file checks its lengths first.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace wherefore {

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

}  // namespace wherefore
