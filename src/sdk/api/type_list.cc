#include "sdk/api/type_list.h"

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::sdk {
namespace {

std::string RateText(Type type, double rate) {
  switch (type) {
    case Type::kHeap:
      return "every " + FormatBytes(static_cast<std::int64_t>(rate));
    case Type::kMutex:
    case Type::kBlock:
      return "every " + FormatDuration(static_cast<std::int64_t>(rate)) + " of waiting";
    case Type::kThreads:
      return "every " + FormatDuration(static_cast<std::int64_t>(rate * 1e9));
    default:
      return fmt::format("{:g} Hz", rate);
  }
}

}  // namespace

std::string ListTypes(const std::vector<TypeState>& states) {
  std::string on;
  std::string off;
  for (const TypeState& state : states) {
    std::string& list = state.on ? on : off;
    list += list.empty() ? "" : ", ";
    list += TypeName(state.type);
    if (state.on) list += " " + RateText(state.type, state.rate);
    if (!state.why.empty()) list += " (" + state.why + ")";
  }
  std::string line = "on: " + (on.empty() ? "nothing" : on);
  if (!off.empty()) line += "; off: " + off;
  return line;
}

}  // namespace wherefore::sdk
