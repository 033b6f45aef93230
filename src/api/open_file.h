// A profile file somebody hands over to be looked at: read in memory, never stored. Pure; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace wherefore::api {

// The types of a file and one of its trees.
struct OpenedFile {
  std::vector<std::string> types;
  std::string type;
  profile::FlameTree tree;
};

// Every format the server reads, and flamebearer and speedscope JSON. `wanted`: one of the types;
// empty: the last, which is the one to look at by pprof's convention.
[[nodiscard]] Result<OpenedFile> OpenFile(const std::shared_ptr<const std::string>& bytes,
                                          const std::string& wanted);

}  // namespace wherefore::api
