// Any bytes as a log segment: no crash, no overrun; what parses must also survive being cut into
// Native blocks, and what is serialized again must parse to the same rows.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "journal/wal.h"
#include "store/write/rows.h"
#include "store/write/segment_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::store;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto try_frame = [](std::string_view frame, std::uint32_t version) {
    FrameContent content;
    if (!ParseFrame(frame, version, content)) return;
    const RowSet& rows = content.rows;
    std::string again;
    rows.Serialize(again);
    RowSet copy;
    if (!copy.ParseAndAppend(again)) std::abort();
    for (const Rows& table : rows.tables()) {
      NativeCutter cutter(table, 3);
      std::string block;
      std::size_t count = 0;
      std::size_t total = 0;
      while (cutter.Next(block, count)) total += count;
      if (total != table.size()) std::abort();
    }
  };
  // The checksum would stop nearly every mutation, so frames are tried without it too.
  if (size > wherefore::journal::kSegmentHeaderBytes + wherefore::journal::kFrameHeaderBytes) {
    for (const std::uint32_t version : {1u, wherefore::journal::kSegmentVersion}) {
      try_frame(bytes.substr(wherefore::journal::kSegmentHeaderBytes +
                             wherefore::journal::kFrameHeaderBytes),
                version);
    }
  }
  const auto content = wherefore::journal::ParseSegment(bytes);
  if (!content) return 0;
  for (const std::string_view frame : content->frames) {
    try_frame(frame, content->header.version);
  }
  return 0;
}
