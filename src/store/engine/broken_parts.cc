// See broken_parts.h.
#include "store/engine/broken_parts.h"

#include <fmt/format.h>

#include "base/log.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/engine/transport.h"

namespace wherefore::store {
namespace {

// What CHECK TABLE says of a part.
struct Checked {
  std::string part;
  bool passed = false;
  std::string_view message;
};
constexpr auto kChecked =
    Columns<Checked>(Col("part_path", &Checked::part), Col("is_passed", &Checked::passed),
                     Col("message", &Checked::message));

// The parts of a table, or one of them, that do not pass the engine's own check.
std::vector<BrokenPart> Check(const PlainEngine& engine, const std::string& table,
                              const std::string& part) {
  std::vector<BrokenPart> broken;
  const std::string which = part.empty() ? "" : fmt::format(" PART {}", Quote(part));
  const auto answer = engine.query(
      fmt::format("CHECK TABLE {}{} SETTINGS check_query_single_value_result = 0", table, which));
  if (!answer) {
    // So broken that even the check fails.
    if (!part.empty()) broken.push_back({table, part});
    return broken;
  }
  // An answer that cannot be read names nothing.
  (void)ReadRows(*answer, kChecked, [&](Checked&& checked) {
    if (!checked.passed) broken.push_back({table, std::move(checked.part)});
  });
  return broken;
}

// A part so small that no honest length in it needs the memory of a query. The columns of small
// parts share one file: a wrong count of rows makes the engine take text of one for lengths of the
// next.
bool IsSmall(const PlainEngine& engine, const BrokenPart& part) {
  const auto answer = engine.query(
      fmt::format("SELECT data_uncompressed_bytes FROM system.parts WHERE active AND database = "
                  "currentDatabase() AND table = {} AND name = {}",
                  Quote(part.table), Quote(part.part)));
  if (!answer) return false;
  constexpr std::uint64_t kSmallBytes = 16 << 20;
  const auto bytes = ReadColumn<std::uint64_t>(*answer);
  return bytes && !bytes->empty() && bytes->front() <= kSmallBytes;
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
  // A query may well need more memory than it may use; only for a small part is that odd.
  if (IsOverQueryMemory(message) && (named.table.empty() || !IsSmall(engine, named))) return {};
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
    const auto detached =
        engine.execute(fmt::format("ALTER TABLE {} DETACH PART {}", part.table, Quote(part.part)));
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
