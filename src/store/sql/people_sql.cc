#include "store/sql/people_sql.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/sql/statement.h"

namespace wherefore::store {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;  // of an answer

std::string_view FormatName(SqlFormat format) {
  switch (format) {
    case SqlFormat::kRows:
      return "JSONCompactEachRowWithNamesAndTypes";
    case SqlFormat::kCsv:
      return "CSVWithNames";
    case SqlFormat::kParquet:
      return "Parquet";
  }
  return "JSONCompactEachRowWithNamesAndTypes";
}

Settings SettingsOf(const SqlQuestion& question) {
  Settings settings = {// Whatever it says: it changes nothing, and reaches no file and no address.
                       {"readonly", "1"},
                       {"allow_introspection_functions", "1"},  // demangle(), in our own views
                       {"session_timezone", "'UTC'"},
                       {"join_use_nulls", "0"},
                       // Nothing large goes to the disk.
                       {"max_bytes_before_external_group_by", "0"},
                       {"max_bytes_ratio_before_external_group_by", "0"},
                       {"max_bytes_before_external_sort", "0"},
                       {"max_bytes_ratio_before_external_sort", "0"},
                       {"join_algorithm", "'hash'"},
                       // The engine looks at the clock between blocks only.
                       {"max_block_size", "8192"},
                       {"function_range_max_elements_in_block", "1000000"},
                       {"allow_hyperscan", "0"},
                       {"output_format_json_quote_64bit_integers", "0"},
                       {"output_format_json_escape_forward_slashes", "0"},
                       {"output_format_json_validate_utf8", "1"}};
  if (question.format != SqlFormat::kRows) {
    settings.emplace_back("max_result_rows", fmt::format("{}", question.most_rows));
  }
  return settings;
}

// Drops the last row if there are more than there may be.
void Cut(SqlAnswer& answer, std::int64_t most_rows) {
  constexpr std::int64_t kHead = 2;  // names, types
  const std::int64_t rows = std::ranges::count(answer.body, '\n') - kHead;
  if (rows <= most_rows) return;
  answer.cut = true;
  answer.body.pop_back();
  answer.body.resize(answer.body.rfind('\n') + 1);
}

}  // namespace

Result<SqlMeanings> PeopleSql::Meanings(const SqlQuestion& question, const CancelToken& cancel) {
  using profile::ProfileType;
  struct ServiceName {
    std::uint64_t service = 0;
    std::string name;
  };
  struct TypeMeaning {
    std::uint64_t type = 0;
    ProfileType details;
  };
  constexpr auto kServices = Columns<ServiceName>(Col("service", &ServiceName::service),
                                                  Col("any(name)", &ServiceName::name));
  constexpr auto kDetails = Columns<ProfileType>(
      Col("any(name)", &ProfileType::name), Col("any(sample_type)", &ProfileType::sample_type),
      Col("any(sample_unit)", &ProfileType::sample_unit),
      Col("any(period_type)", &ProfileType::period_type),
      Col("any(period_unit)", &ProfileType::period_unit), Col("any(period)", &ProfileType::period),
      Col("any(count_rule)", &ProfileType::count_rule),
      Col("any(stands_for_cpu)", &ProfileType::stands_for_cpu));
  constexpr auto kTypes =
      Columns<TypeMeaning>(Col("type", &TypeMeaning::type), In(&TypeMeaning::details, kDetails));
  const std::string mine =
      fmt::format("WHERE tenant = {} AND {}", question.tenant,
                  BucketCondition(question.range.from_ns, question.range.to_ns));
  SqlMeanings meanings;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport_, kServices,
                fmt::format("FROM {} {} GROUP BY service", PhysicalName(Table::kServices), mine),
                limits_, cancel, [&](ServiceName&& row) {
                  meanings.services.emplace_back(row.service, std::move(row.name));
                }));
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport_, kTypes,
      fmt::format("FROM {} {} GROUP BY type", PhysicalName(Table::kTypes), mine), limits_, cancel,
      [&](TypeMeaning&& row) { meanings.types.emplace_back(row.type, std::move(row.details)); }));
  return meanings;
}

Result<SqlAnswer> PeopleSql::Ask(const SqlQuestion& question, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string statement, OneStatement(question.statement));
  WHEREFORE_ASSIGN_OR_RETURN(const SqlNames names, guard_.Check(statement, limits_, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const SqlMeanings meanings, Meanings(question, cancel));
  // One row more than it may have, to know whether there is one.
  const bool cuts = question.format == SqlFormat::kRows;
  const std::string sql = fmt::format(
      "{} SELECT * FROM (\n{}\n){}", DefineViews(names, meanings, question.tenant, question.range),
      statement, cuts ? fmt::format(" LIMIT {}", question.most_rows + 1) : std::string());
  auto body =
      transport_.QueryForPerson(sql, FormatName(question.format), SettingsOf(question),
                                {limits_.timeout_ns, limits_.memory_bytes, kMostBytes}, cancel);
  if (!body) {
    if (!body.error().message().contains(kTooLongAnAnswer)) return StatementError(body.error());
    return Error(Code::kLimit, fmt::format("the answer has more than {} rows, or more than {}: ask "
                                           "for less, or say LIMIT",
                                           question.most_rows, FormatBytes(kMostBytes)));
  }
  SqlAnswer answer{.body = *std::move(body)};
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(2 * answer.body.size()));
  if (cuts) Cut(answer, question.most_rows);
  return answer;
}

}  // namespace wherefore::store
