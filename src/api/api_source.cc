// Api: source files that profiles name, and how the page links to a repository.
#include "api/api.h"
#include "api/request.h"
#include "api/source_files.h"
#include "base/json_writer.h"
#include "query/context.h"
#include "query/list.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

Result<HttpResponse> Source(query::QueryContext& context, const SourceFiles& files,
                            const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "file"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  const std::string named = p.Get("file");
  if (named.empty())
    return Error(Code::kInvalid, "parameter 'file': expected a source file as profiles name it");
  if (files.empty()) {
    return Error(Code::kNotFound,
                 "no source is configured: start wherefore serve with --source-root FOLDER");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const bool known,
                             query::NamesFile(context, selection, named, request.cancel));
  if (!known) {
    return Error(Code::kNotFound, "no profile of this selection names the file '" + named + "'");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const SourceText source, files.Read(named));
  HttpResponse response;
  JsonWriter(response.body)
      .BeginObject()
      .Field("file", named)
      .Field("path", source.path)
      .Field("text", source.text)
      .EndObject();
  return response;
}

}  // namespace

void Api::AddSourceRoutes(net::Router& router) {
  AddRoute(router, "GET", "/api/v1/source", "source", net::WorkKind::kHeavy,
           [this, files = SourceFiles(operations_.source_roots)](const HttpRequest& request) {
             return Source(context_, files, request);
           });
  AddRoute(router, "GET", "/api/v1/settings", "settings", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             const Operations::Ports ports = operations_.ports();
             HttpResponse response;
             JsonWriter(response.body)
                 .BeginObject()
                 .Field("source", !operations_.source_roots.empty())
                 .Field("repository_template", operations_.repository_template)
                 .Field("otlp_grpc_port", std::int64_t{ports.otlp_grpc})
                 .Field("otlp_http_port", std::int64_t{ports.otlp_http})
                 .Field("retention_ms", operations_.retention_ns / 1'000'000)
                 .EndObject();
             return response;
           });
}

}  // namespace wherefore::api
