// Opens a file whose path comes from an untrusted source.
//
// Opening a device or a pipe, or reading a kernel file, can have side effects. So the path is
// resolved and checked first, and then exactly that file is opened: no link can be swapped in
// between. May block on a network file system. Any thread.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace wherefore {

struct RegularFile {
  Descriptor file;   // for reading
  std::string path;  // resolved: absolute, without symbolic links
};

// kNotFound: missing or not readable. kInvalid: not a regular file, or a kernel file.
[[nodiscard]] Result<RegularFile> OpenRegularFile(const std::string& path);

}  // namespace wherefore
