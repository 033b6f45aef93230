// The table of settings: for each, its name in the file, its variable, and how a text becomes a
// value.
//
// One table serves both the environment and the YAML file (load_options.cc reads them). Plain
// values, no state: any thread.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/config/options.h"

namespace wherefore::sdk {

// The addresses as the sources give them; completed after the last source.
struct Addresses {
  std::string profiles;
  std::string traces;
  std::string opamp;
  std::string protocol;
  std::string profiles_protocol;
  std::string traces_protocol;
  TextPairs headers;
  TextPairs profiles_headers;
  TextPairs traces_headers;
};

struct Target {
  Options options;
  Addresses addresses;
};

// Why a text, or a part of it, could not be read.
struct Complaint {
  std::string expected;
  std::string outcome = "ignored";
  // NOLINTBEGIN(google-explicit-constructor): most say what was expected and no more
  Complaint(std::string what) : expected(std::move(what)) {}
  Complaint(const char* what) : expected(what) {}
  // NOLINTEND(google-explicit-constructor)
  Complaint(std::string what, std::string then)
      : expected(std::move(what)), outcome(std::move(then)) {}
};

// Takes the text; nothing when it could be read.
using Apply = std::function<std::optional<Complaint>(Target&, std::string_view)>;

struct Setting {
  std::string yaml;  // path under `profiling:`, joined by '.'; empty: not in files
  std::string env;   // empty: not in the environment
  Apply apply;
  bool secret = false;  // its value is never repeated in a message
};

[[nodiscard]] std::vector<Setting> BuildSettings();

// service.name may stand among the attributes; it is told once, by service_name.
void TakeServiceName(Options& o);

// Adds the types that a list names to `on`, and switches on what that has. Names that are none are
// given back and the others count; only such names mean nothing at all.
std::vector<std::string> ApplyTypes(Options& options, std::string_view text,
                                    std::array<bool, kTypeCount>& on);
// What may stand in such a list, for people.
[[nodiscard]] std::string TypeChoices();

}  // namespace wherefore::sdk
