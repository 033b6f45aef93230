// Opening a file whose path a stranger chose.
//
// To open a device or a pipe is to use it already, and to read a file of the kernel may do
// something. So where the path leads is looked at first, and that very place is opened then: no
// link can be changed in between. May wait for a network's file system. Any thread.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace wherefore {

struct RegularFile {
  Descriptor file;   // for reading
  std::string path;  // where it really is: absolute, without links
};

// kNotFound: nothing is there, or not for us. kInvalid: no regular file, or the kernel's.
[[nodiscard]] Result<RegularFile> OpenRegularFile(const std::string& path);

}  // namespace wherefore
