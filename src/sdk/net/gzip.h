// bytes -> gzip. Pure function; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wherefore::sdk {

// At the fastest level: the program's CPU is dearer than the bytes. Nothing when memory is short.
[[nodiscard]] std::optional<std::string> Gzip(std::string_view bytes);

}  // namespace wherefore::sdk
