// Trace, span and profile ids as the engine's columns and statements hold them. For the files of
// this module.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "base/text.h"
#include "profile/batch.h"
#include "store/engine/transport.h"

namespace wherefore::store {

template <typename Id>
Id AsId(std::string_view bytes) {
  Id id{};
  bytes.copy(reinterpret_cast<char*>(id.data()), id.size());  // at most what there is
  return id;
}

// An id as attributes have it, 16 hexadecimal digits; all zero: it is none.
[[nodiscard]] inline profile::SpanId SpanIdOf(std::string_view text) {
  const auto bytes = FromHex(text);
  return bytes && bytes->size() == profile::SpanId{}.size() ? AsId<profile::SpanId>(*bytes)
                                                            : profile::SpanId{};
}

template <typename Id>
std::string QuoteId(const Id& id) {
  return QuoteBytes({reinterpret_cast<const char*>(id.data()), id.size()});
}

// For IN (...).
template <typename Ids>
std::string QuoteIds(const Ids& ids) {
  std::string out;
  for (const auto& id : ids) {
    if (!out.empty()) out += ',';
    out += QuoteId(id);
  }
  return out;
}

// What stands behind IN: few ids as literals, many as one text that the engine cuts up itself. A
// literal takes it 0.1 ms to read, and 50,000 terms, six for each, are the most it takes.
template <typename Id>
std::string ListOf(std::span<const Id> ids) {
  constexpr std::size_t kFew = 8;
  if (ids.size() <= kFew) return QuoteIds(ids);
  std::string text;
  text.reserve(ids.size() * (2 * sizeof(Id) + 1));
  for (const Id& id : ids) {
    if (!text.empty()) text += ',';
    text += ToHex(id);
  }
  return fmt::format("SELECT toFixedString(unhex(arrayJoin(splitByChar(',', '{}'))), {})", text,
                     sizeof(Id));
}

// The engine takes statements of 256 KiB, and ids may be named three times in one.
inline constexpr std::size_t kSpansAtOnce = 4'000;
inline constexpr std::size_t kTracesAtOnce = 2'000;

// Calls `ask` with the ids as a list, in as many parts as it takes.
template <typename Id>
Result<> InParts(const std::vector<Id>& ids, std::size_t at_once,
                 const std::function<Result<>(const std::string&)>& ask) {
  for (std::size_t begin = 0; begin < ids.size(); begin += at_once) {
    const auto some = std::span(ids).subspan(begin, std::min(at_once, ids.size() - begin));
    WHEREFORE_RETURN_IF_ERROR(ask(ListOf(some)));
  }
  return {};
}

}  // namespace wherefore::store
