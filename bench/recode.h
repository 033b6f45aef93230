// The load in the formats of Pyroscope's clients: the samples of an OTLP request as a pprof file or
// a JFR recording, both gzip-compressed, and the path to send them to.
#pragma once

#include <string>

namespace wherefore::bench {

struct Recoded {
  std::string path;  // with its query
  std::string body;
};

// `otlp` is one request of RequestWriter.
[[nodiscard]] Recoded AsPprof(const std::string& otlp);
[[nodiscard]] Recoded AsJfr(const std::string& otlp);

}  // namespace wherefore::bench
