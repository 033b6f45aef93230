// Status: what a part of the server tells its operator, as plain data.
//
// gateway and store publish one; api and doctor print it without knowing either. Providers may be
// called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wherefore {

struct StatusProblem {
  std::string what;  // one sentence: what is wrong
  std::string fix;   // one sentence: what to do
  bool blocks_writes = false;
};

struct Status {
  std::string part;                                        // "store", "gateway"
  std::vector<std::pair<std::string, std::string>> facts;  // name, value; in reading order
  std::vector<StatusProblem> problems;                     // empty = healthy
};

}  // namespace wherefore
