// See broken_parts.h.
#include "store/broken_parts.h"

#include <fmt/format.h>

#include "base/log.h"
#include "store/native.h"
#include "store/schema.h"
#include "store/transport.h"

namespace wherefore::store {
namespace {

// The parts of a table, or one of them, that do not pass the engine's own check.
std::vector<BrokenPart> Check(const PlainEngine& engine, const std::string& table,
                              const std::string& part) {
  std::vector<BrokenPart> broken;
  const std::string which = part.empty() ? "" : fmt::format(" PART {}", Quote(part));
  const auto answer = engine.query(fmt::format(
      "CHECK TABLE {}{} SETTINGS check_query_single_value_result = 0", table, which));
  if (!answer) {
    // So broken that not even the check goes through it.
    if (!part.empty()) broken.push_back({table, part});
    return broken;
  }
  const auto rows = NativeResult::Parse(*answer, 3);
  if (!rows) return broken;
  for (const NativeBlock& block : rows->blocks) {
    for (std::size_t i = 0; i < block.rows; ++i) {
      if (block.columns[1].U32(i) == 0)
        broken.push_back({table, std::string(block.columns[0].Text(i))});
    }
  }
  return broken;
}

}  // namespace

BrokenPart PartInMessage(std::string_view message) {
  constexpr std::string_view kPart = "from part ";
  constexpr std::string_view kTable = " in table default.";
  const std::size_t part = message.find(kPart);
  const std::size_t table = message.find(kTable, part);
  if (part == std::string_view::npos || table == std::string_view::npos) return {};
  std::string_view path = message.substr(part + kPart.size(), table - part - kPart.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::string_view name = message.substr(table + kTable.size());
  return {std::string(name.substr(0, name.find(' '))),
          std::string(path.substr(path.rfind('/') + 1))};
}

std::vector<BrokenPart> SetBrokenPartsAside(const PlainEngine& engine, std::string_view sql,
                                            std::string_view message) {
  std::vector<BrokenPart> broken;
  const BrokenPart named = PartInMessage(message);
  if (!named.table.empty()) {
    broken = Check(engine, named.table, named.part);
  } else {
    for (const TableDef& table : Tables()) {
      const std::string name = PhysicalName(table.id);
      if (sql.find(name) == std::string_view::npos) continue;
      std::vector<BrokenPart> found = Check(engine, name, "");
      broken.insert(broken.end(), found.begin(), found.end());
    }
  }
  std::vector<BrokenPart> aside;
  for (const BrokenPart& part : broken) {
    const auto detached = engine.execute(
        fmt::format("ALTER TABLE {} DETACH PART {}", part.table, Quote(part.part)));
    if (!detached) {
      Log(LogLevel::kError, "a part that cannot be read cannot be set aside either",
          {{"table", part.table}, {"part", part.part}, {"error", detached.error().message()}});
      continue;
    }
    Log(LogLevel::kError, "a part that cannot be read is set aside; what it held is missing",
        {{"table", part.table}, {"part", part.part}, {"error", message.substr(0, 300)}});
    aside.push_back(part);
  }
  return aside;
}

}  // namespace wherefore::store
