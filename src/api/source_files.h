// SourceFiles: the text of source files below configured folders, for the page's source view.
//
// What comes in as a path was written by whoever sent a profile, so it is never opened as it is: it
// is looked for below the roots, by its longest ending that exists there, and what was opened must
// really lie below that root, whatever links or ".." were on the way, and must not look like a
// secret (source_kind.h). Whether a profile names the file at all is for the caller to check. Any
// thread; nothing is kept open or cached.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wherefore::api {

struct SourceText {
  std::string path;  // below its root: "src/json/parse.cc"
  std::string text;
};

class SourceFiles {
 public:
  static constexpr std::size_t kMostBytes = 4u << 20;

  explicit SourceFiles(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  // kNotFound: below none of the roots, or it looks like a secret. kLimit: too large. kInvalid: a
  // binary file.
  [[nodiscard]] Result<SourceText> Read(const std::string& named) const;
  [[nodiscard]] bool empty() const { return roots_.empty(); }

 private:
  std::vector<std::string> roots_;
};

}  // namespace wherefore::api
