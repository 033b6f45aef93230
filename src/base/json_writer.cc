#include "base/json_writer.h"

#include "base/text.h"

namespace wherefore {
namespace {

// Length of the valid UTF-8 sequence at `at`, or 0.
std::size_t SequenceLength(std::string_view text, std::size_t at) {
  for (std::size_t length = 1; length <= 4 && at + length <= text.size(); ++length) {
    if (IsValidUtf8(text.substr(at, length))) return length;
  }
  return 0;
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  if (IsValidUtf8(text)) {
    for (const char c : text) AppendEscaped(out, c);
  } else {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = SequenceLength(text, i);
      if (length == 0) out += "\xef\xbf\xbd";
      for (std::size_t k = 0; k < length; ++k) AppendEscaped(out, text[i + k]);
      i += std::max<std::size_t>(length, 1);
    }
  }
  out += '"';
}

}  // namespace wherefore
