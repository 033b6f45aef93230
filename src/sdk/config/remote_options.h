// RemoteOptions: what a server may choose about the profiler, over what was chosen here.
//
// A file as the server sends it, with a `profiling:` block in the words of our own files. Only what
// changes how much is sampled and kept is taken from it: types, rates, conditions, limits. Never an
// address or a file, never a type that the program's code switched off, and of the budget only
// less. What is not on that list is left out and named by ignored(); a value that cannot be read
// makes the whole file unusable.
//
// Plain values: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sdk/config/option_settings.h"
#include "sdk/config/options.h"

namespace wherefore::sdk {

class RemoteOptions {
 public:
  // Chooses nothing.
  RemoteOptions() = default;
  // kInvalid, with the line, for what cannot be read.
  [[nodiscard]] static Result<RemoteOptions> Read(std::string_view yaml);

  // What is in force with these over `local`.
  [[nodiscard]] Options Over(const Options& local) const;
  // Keys of the file that are not the server's to choose, or of no meaning here.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  struct Choice {
    Apply apply;
    std::string value;
  };
  std::vector<Choice> choices_;  // in the order of the file
  std::vector<std::string> ignored_;
};

// The values that a server may choose, as they are in `options`, as such a file.
[[nodiscard]] std::string WriteRemoteOptions(const Options& options);

}  // namespace wherefore::sdk
