// Api: SQL for people (docs/sql.md).
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "api/api.h"
#include "api/request.h"
#include "api/sql.h"
#include "base/json_writer.h"

namespace wherefore::api {
namespace {

constexpr std::int64_t kDefaultRows = 10'000;
constexpr std::int64_t kMostRows = 1'000'000;

Result<SqlForm> FormOf(const std::string& name) {
  if (name == "json") return SqlForm::kRows;
  if (name == "csv") return SqlForm::kCsv;
  if (name == "parquet") return SqlForm::kParquet;
  return Error(Code::kInvalid, "parameter 'format': expected json, csv or parquet");
}

// Behind the closing quote of the text that begins at `at`.
std::size_t EndOfText(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

// The texts of a line like ["a", "b"], with their quotes.
std::vector<std::string_view> TextsOf(std::string_view line) {
  std::vector<std::string_view> texts;
  for (std::size_t at = line.find('"'); at < line.size(); at = line.find('"', at)) {
    const std::size_t end = EndOfText(line, at);
    texts.push_back(line.substr(at, end - at));
    at = end;
  }
  return texts;
}

bool IsBeyondExact(std::string_view number) {
  constexpr std::string_view kExact = "9007199254740992";  // 2^53
  if (number.starts_with('-')) number.remove_prefix(1);
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return number.size() != kExact.size() ? number.size() > kExact.size() : number > kExact;
}

// A row, with large whole numbers as texts.
void AppendRow(std::string& out, std::string_view row) {
  for (std::size_t at = 0; at < row.size();) {
    if (row[at] == '"') {
      const std::size_t end = EndOfText(row, at);
      out += row.substr(at, end - at);
      at = end;
      continue;
    }
    const std::size_t end = std::min(row.find_first_not_of("0123456789+-.eE", at), row.size());
    if (end == at) {
      out += row[at++];
      continue;
    }
    const std::string_view number = row.substr(at, end - at);
    out += IsBeyondExact(number) ? fmt::format("\"{}\"", number) : std::string(number);
    at = end;
  }
}

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

Result<net::HttpResponse> Render(const SqlAnswered& answer, SqlForm form) {
  net::HttpResponse response;
  if (form == SqlForm::kRows) {
    WHEREFORE_ASSIGN_OR_RETURN(response.body, SqlRowsAsJson(answer));
    return response;
  }
  response.content_type =
      form == SqlForm::kCsv ? "text/csv; charset=utf-8" : "application/vnd.apache.parquet";
  response.headers["Content-Disposition"] = form == SqlForm::kCsv
                                                ? "attachment; filename=\"answer.csv\""
                                                : "attachment; filename=\"answer.parquet\"";
  response.body = answer.body;
  return response;
}

}  // namespace

Result<std::string> SqlRowsAsJson(const SqlAnswered& answer) {
  std::string_view rest = answer.body;
  const std::vector<std::string_view> names = TextsOf(TakeLine(rest));
  const std::vector<std::string_view> types = TextsOf(TakeLine(rest));
  if (names.empty() || names.size() != types.size())
    return Error(Code::kCorrupt, "the engine's answer has no names of columns");
  std::string out;
  out.reserve(answer.body.size() + 256);
  JsonWriter json(out);
  json.BeginObject().Key("columns").BeginArray();
  for (std::size_t i = 0; i < names.size(); ++i)
    json.BeginObject().Key("name").Raw(names[i]).Key("type").Raw(types[i]).EndObject();
  json.EndArray().Key("rows").BeginArray();
  std::string row;
  while (!rest.empty()) {
    row.clear();
    AppendRow(row, TakeLine(rest));
    json.Raw(row);
  }
  json.EndArray().Field("cut", answer.cut).EndObject();
  return out;
}

void Api::AddSqlRoutes(net::Router& router) {
  AddRoute(
      router, "POST", "/api/v1/sql", "sql", net::WorkKind::kHeavy,
      [this](const net::HttpRequest& request) -> Result<net::HttpResponse> {
        WHEREFORE_ASSIGN_OR_RETURN(
            const auto p, Parameters::Read(request, {"format", "limit", "from", "to", "since"}));
        SqlAsked asked{.statement = *request.body, .tenant = request.tenant};
        WHEREFORE_ASSIGN_OR_RETURN(asked.form, FormOf(p.Get("format", "json")));
        WHEREFORE_ASSIGN_OR_RETURN(asked.most_rows, p.Int("limit", kDefaultRows, 1, kMostRows));
        if (p.Has("from") || p.Has("to") || p.Has("since")) {
          WHEREFORE_ASSIGN_OR_RETURN(asked.range, p.Range("", true));
        }
        if (!operations_.sql) return Error(Code::kUnsupported, operations_.why_no_sql);
        WHEREFORE_ASSIGN_OR_RETURN(const SqlAnswered answer,
                                   operations_.sql(asked, request.cancel));
        return Render(answer, asked.form);
      },
      operations_.catch_up);
}

}  // namespace wherefore::api
