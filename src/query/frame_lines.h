// Frames of a dictionary that came as bare addresses: what the symbolizer knows about them.
//
// Asked for where stored frames are turned into names: the tries (flame, top, tree, spans), list
// and merged exports. Profiles that are given back as they came in are left alone. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/read.h"
#include "symbols/symbolizer.h"

namespace wherefore::query {

// A module whose debug information may still come.
struct UnsettledModule {
  std::string path;
  std::uint64_t version = 0;  // Symbolizer::HasNews()
};
using UnsettledModules = std::map<std::string, UnsettledModule>;  // by build id

struct FrameLines {
  // By frame; null where it stays as it was sent.
  std::vector<std::shared_ptr<const symbols::ResolvedFrame>> frames;
  bool postponed = false;  // there was no time for some: worth asking again later
  UnsettledModules unsettled;

  [[nodiscard]] const symbols::ResolvedFrame* Of(std::size_t frame) const {
    return frame < frames.size() ? frames[frame].get() : nullptr;
  }
};

// `mappings` are in id order, the first has id 1. `symbolizer` may be null. Takes 5 s at most.
[[nodiscard]] FrameLines ResolveFrames(symbols::Symbolizer* symbolizer,
                                       std::span<const store::FrameRow> frames,
                                       std::span<const store::MappingRow> mappings);

// Whether asking again may give more. Looks for files where it is time to, for 200 ms at most.
[[nodiscard]] bool HasNews(symbols::Symbolizer* symbolizer, const UnsettledModules& modules);

}  // namespace wherefore::query
