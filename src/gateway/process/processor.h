// Processor: one step of a pipeline between receiver and ends.
//
// Threads: Process and status from any thread, several requests at once.
// Always:  a processor changes the request in place or removes parts of it, and resets otlp_bytes
//          when it does. Data that is left out on purpose is no error: the sender is told it was
//          taken.
// Failure: an error refuses the whole request; nothing of it goes further. kLimit and kUnavailable:
//          the sender comes again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/sink.h"

namespace wherefore::gateway {

class Processor {
 public:
  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  virtual ~Processor() = default;

  virtual Result<> Process(profile::WriteRequest& request) = 0;
  // Name and value, for status pages.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> facts() const {
    return {};
  }
};

}  // namespace wherefore::gateway
