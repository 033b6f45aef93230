// Lost names: profiles and spans whose service or type has no row any more, because it was lost
// with a frame of the log or a part of the engine. Without one nothing finds them.
//
// A service's number is the hash of its name and a type's that of its fields, so any other row with
// the number has the name: of another day, or the one the sender's next request brings. Until then
// they are called [name lost].
#include <array>

#include <fmt/format.h>

#include "profile/frame_name.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

struct Names {
  Table table;
  Table used_in;
  std::string_view number;  // the hash that a name has
  std::string_view key;     // of a row
  std::string_view condition;
  std::string_view columns;  // the others
  std::string_view known;    // their values, of rows with the same number
  std::string_view lost;     // where there is none
};

constexpr std::string_view kServiceKey = "bucket, tenant, service, writer";
constexpr std::string_view kTypeColumns =
    "name, sample_type, sample_unit, period_type, period_unit, period, count_rule, stands_for_cpu";
constexpr std::array<Names, 3> kNames = {{
    {Table::kServices, Table::kProfiles, "service", kServiceKey, "signal = 1", "signal, name",
     "toUInt8(1), any(name)", "toUInt8(1), '[name lost]'"},
    {Table::kServices, Table::kSpans, "service", kServiceKey, "signal = 2", "signal, name",
     "toUInt8(2), any(name)", "toUInt8(2), '[name lost]'"},
    {Table::kTypes, Table::kProfiles, "type", "bucket, tenant, service, writer, type", "1 = 1",
     kTypeColumns,
     "any(name), any(sample_type), any(sample_unit), any(period_type), any(period_unit), "
     "any(period), any(count_rule), any(stands_for_cpu)",
     "'[name lost]', '[name lost]', 'count', '', '', toInt64(0), toUInt8(0), toUInt8(0)"},
}};

// Keys that are used and have no row.
std::string Missing(const Names& n) {
  return fmt::format(
      "SELECT DISTINCT {0} FROM {1} WHERE ({0}) NOT IN (SELECT {0} FROM {2} WHERE {3})", n.key,
      PhysicalName(n.used_in), PhysicalName(n.table), n.condition);
}

}  // namespace

Result<> StoreImpl::RestoreNames(const std::string& table, const std::string& missing,
                                 const std::string& insert, const std::string& from) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t rows,
                             CountRows(fmt::format("SELECT count() FROM ({})", missing)));
  if (rows == 0) return {};
  return transport_->Execute(fmt::format("INSERT INTO {} ({}) {}", table, insert, from));
}

Result<> StoreImpl::RestoreLostNames() {
  WHEREFORE_ASSIGN_OR_RETURN(const bool lost, RestoreNames());
  names_lost_.store(lost);
  return {};
}

Result<bool> StoreImpl::RestoreNames() {
  bool lost = false;
  for (const Names& n : kNames) {
    const std::string table = PhysicalName(n.table);
    const std::string named = fmt::format("{} AND name != '{}'", n.condition, profile::kNameLost);
    // A placeholder goes once the real name has arrived.
    const std::string stood_in =
        fmt::format("name = '{0}' AND {1} AND {2} IN (SELECT {2} FROM {3} WHERE {4})",
                    profile::kNameLost, n.condition, n.number, table, named);
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::uint64_t replaced,
        CountRows(fmt::format("SELECT count() FROM {} WHERE {}", table, stood_in)));
    if (replaced > 0) {
      WHEREFORE_RETURN_IF_ERROR(
          transport_->Execute(fmt::format("ALTER TABLE {} DELETE WHERE {}", table, stood_in),
                              {{"mutations_sync", "1"}}));
    }
    const std::string insert = fmt::format("{}, {}", n.key, n.columns);
    WHEREFORE_RETURN_IF_ERROR(RestoreNames(
        table, Missing(n), insert,
        fmt::format(
            "SELECT {0}, {1} FROM ({2}) AS missing ANY INNER JOIN (SELECT {3} AS number, {4} "
            "FROM {5} WHERE {6}) AS names ON missing.{3} = names.number GROUP BY {0}",
            n.key, n.known, Missing(n), n.number,
            n.table == Table::kServices ? std::string_view("name") : kTypeColumns, table, named)));
    WHEREFORE_RETURN_IF_ERROR(
        RestoreNames(table, Missing(n), insert,
                     fmt::format("SELECT {}, {} FROM ({})", n.key, n.lost, Missing(n))));
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::uint64_t nameless,
        CountRows(fmt::format("SELECT count() FROM {} WHERE {} AND name = '{}'", table, n.condition,
                              profile::kNameLost)));
    lost |= nameless > 0;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const BucketRows there, CountParts());
  for (const auto& [where, rows] : there) {
    if (where.first == Table::kServices || where.first == Table::kTypes) ledger_.Set(where, rows);
  }
  WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
  generation_.fetch_add(1);
  return lost;
}

}  // namespace wherefore::store
