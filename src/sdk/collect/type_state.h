// What the collector and its callers exchange. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/config/options.h"

namespace wherefore::sdk {

// How one type is doing, for the start line, `doctor` and wherefore_get_type_state().
struct TypeState {
  Type type = Type::kCpu;
  bool on = false;
  double rate = 0;       // what is real now, in the type's unit (options.h)
  std::string why;       // when off: a reason a person can act on; when on: empty or a restriction
  bool refused = false;  // `why` is a sandbox or a crash before, nothing that is so by nature
};

// What a stop does with what was sampled and not yet sent: hands it to the exporter, or leaves it
// to the next start, which keeps the types that are on then.
enum class Unsent : std::uint8_t { kSend, kKeep };

}  // namespace wherefore::sdk
