// Trace, span and profile ids as the engine's columns and statements hold them. For the files of
// this module.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

template <typename Id>
Id AsId(std::string_view bytes) {
  Id id{};
  bytes.copy(reinterpret_cast<char*>(id.data()), id.size());  // at most what there is
  return id;
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

// The engine refuses a statement of more than 50,000 terms, and an id is six of them; traces are
// named several times in one.
inline constexpr std::size_t kSpansAtOnce = 5'000;
inline constexpr std::size_t kTracesAtOnce = 1'000;

// Calls `ask` with the ids as a list, in as many parts as it takes.
template <typename Id>
Result<> InParts(const std::vector<Id>& ids, std::size_t at_once,
                 const std::function<Result<>(const std::string&)>& ask) {
  for (std::size_t begin = 0; begin < ids.size(); begin += at_once) {
    const auto some = std::span(ids).subspan(begin, std::min(at_once, ids.size() - begin));
    WHEREFORE_RETURN_IF_ERROR(ask(QuoteIds(some)));
  }
  return {};
}

}  // namespace wherefore::store
