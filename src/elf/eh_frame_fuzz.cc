// Any bytes as .eh_frame: no crash, no overrun, and it terminates; rows of a function ascend and
// stay inside it.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "elf/eh_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::elf;
  EhFrameReader reader(std::span(data, size), 0x1000);
  FunctionRange function;
  std::vector<FrameRow> rows;
  while (true) {
    const auto more = reader.Next(function, rows);
    if (!more || !*more) return 0;
    if (rows.empty() || rows[0].address != function.start) std::abort();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].address >= function.end) std::abort();
      if (i > 0 && rows[i].address <= rows[i - 1].address) std::abort();
    }
  }
}
