// Reads JSON of the shop's requests. The tests' profiles name this file (tests/ui_data.py).
#include "json.h"

namespace json {

namespace {

// Every key is looked up among all that came before it: the more keys, the slower.
Value parse_object(Reader& in) {
  Value object;
  while (in.more()) {
    std::string key = in.text();
    for (auto& [known, value] : object) {
      if (known == key) in.fail("the key comes twice");
    }
    object.emplace_back(key, parse_value(in));
  }
  return object;
}

}  // namespace

void parse(Value& out, std::string_view text) {
  Reader in(text);
  out = parse_object(in);
}

}  // namespace json
