// W3C traceparent: "00-<32 hex>-<16 hex>-<2 hex>".
#include <array>
#include <cstring>

#include "base/text.h"
#include "sdk/context/tracer.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kLength = 55;

// Lower case only, as the specification says.
bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<wherefore_span_context> ParseTraceparent(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (!IsHex(version) || !IsHex(trace) || !IsHex(span) || !IsHex(flags) || version == "ff")
    return std::nullopt;
  // Later versions may say more, behind another dash.
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  wherefore_span_context out{};
  std::memcpy(out.trace_id, FromHex(trace)->data(), sizeof(out.trace_id));
  std::memcpy(out.span_id, FromHex(span)->data(), sizeof(out.span_id));
  out.flags = static_cast<std::uint8_t>((*FromHex(flags))[0]);
  constexpr wherefore_span_context kNone{};
  if (std::memcmp(out.trace_id, kNone.trace_id, sizeof(out.trace_id)) == 0 ||
      std::memcmp(out.span_id, kNone.span_id, sizeof(out.span_id)) == 0) {
    return std::nullopt;
  }
  return out;
}

std::string FormatTraceparent(const wherefore_span_context& span) {
  const std::array<std::uint8_t, 1> flags = {span.flags};
  return "00-" + ToHex(span.trace_id) + "-" + ToHex(span.span_id) + "-" + ToHex(flags);
}

}  // namespace wherefore::sdk
