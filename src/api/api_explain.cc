// Api: why a request, or the requests of an endpoint, took as long as they did.
#include "api/accounting_json.h"
#include "api/explain_service.h"
#include "base/json_writer.h"
#include "query/explain.h"

namespace wherefore::api {
namespace {

std::string AsText(const query::Explanation& e, bool markdown) {
  std::string out = markdown ? "### " + e.title + "\n\n" : e.title + "\n";
  for (const query::Explanation::Line& line : e.lines) {
    out += markdown ? fmt::format("- **{}** {}\n", line.label, line.text)
                    : fmt::format("{:<7}{}\n", line.label, line.text);
  }
  return out;
}

}  // namespace

Result<net::HttpResponse> AnswerExplain(query::QueryContext& context, const KnownOfServices& known,
                                        const net::HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"trace", "from", "to", "since", "service", "name",
                                               "attribute", "format"}));
  const std::string format = p.Get("format", "json");
  if (format != "json" && format != "text" && format != "markdown")
    return Error(Code::kInvalid, "parameter 'format': expected json, text or markdown");
  query::Explanation answer;
  if (p.Has("trace")) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ParseTraceId(p.Get("trace")));
    WHEREFORE_ASSIGN_OR_RETURN(answer,
                               query::ExplainTrace(context, p.tenant(), trace, request.cancel));
  } else if (p.Has("service") && !p.Has("name") && !p.Has("attribute")) {
    WHEREFORE_ASSIGN_OR_RETURN(const query::TimeRange range, p.Range());
    WHEREFORE_ASSIGN_OR_RETURN(answer, ExplainService(context, known, p.tenant(), p.Get("service"),
                                                      range, request.cancel));
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const auto search, ReadEndpoint(p));
    WHEREFORE_ASSIGN_OR_RETURN(answer, query::ExplainEndpoint(context, search, request.cancel));
  }
  net::HttpResponse response;
  if (format != "json") {
    response.body = AsText(answer, format == "markdown");
    response.content_type = "text/plain; charset=utf-8";
    return response;
  }
  JsonWriter json(response.body);
  json.BeginObject().Field("title", answer.title).Key("lines").BeginArray();
  for (const query::Explanation::Line& line : answer.lines)
    json.BeginObject().Field("label", line.label).Field("text", line.text).EndObject();
  json.EndArray().Field("path", answer.path).Key("commands").BeginArray();
  for (const std::string& command : answer.commands) json.String(command);
  json.EndArray().EndObject();
  return response;
}

}  // namespace wherefore::api
