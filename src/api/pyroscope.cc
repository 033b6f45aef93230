#include "api/pyroscope.h"

#include "api/run.h"

namespace wherefore::api {

using formats::QuerierMethod;

void PyroscopeApi::AddRoutes(net::Router& http, net::GrpcRouter& grpc) {
  const auto add = [&](QuerierMethod method, const std::string& name, Method answer) {
    AddMethod(http, grpc, method, name, answer);
  };
  add(QuerierMethod::kProfileTypes, "ProfileTypes", &PyroscopeApi::ProfileTypes);
  add(QuerierMethod::kLabelNames, "LabelNames", &PyroscopeApi::LabelNames);
  add(QuerierMethod::kLabelValues, "LabelValues", &PyroscopeApi::LabelValues);
  add(QuerierMethod::kSeries, "Series", &PyroscopeApi::Series);
  add(QuerierMethod::kSelectMergeStacktraces, "SelectMergeStacktraces",
      &PyroscopeApi::MergeStacktraces);
  add(QuerierMethod::kSelectMergeSpanProfile, "SelectMergeSpanProfile",
      &PyroscopeApi::MergeStacktraces);
  add(QuerierMethod::kSelectMergeProfile, "SelectMergeProfile", &PyroscopeApi::MergeProfile);
  add(QuerierMethod::kSelectSeries, "SelectSeries", &PyroscopeApi::SelectSeries);
  add(QuerierMethod::kSelectHeatmap, "SelectHeatmap", &PyroscopeApi::SelectHeatmap);
  add(QuerierMethod::kDiff, "Diff", nullptr);
  add(QuerierMethod::kGetProfileStats, "GetProfileStats", &PyroscopeApi::ProfileStats);
  add(QuerierMethod::kAnalyzeQuery, "AnalyzeQuery", &PyroscopeApi::Nothing);
  AddLegacyRoutes(http);
  AddSmallServices(http, grpc);
}

void PyroscopeApi::AddMethod(net::Router& http, net::GrpcRouter& grpc, QuerierMethod method,
                             const std::string& name, Method answer) {
  Histogram& seconds = AnswerSeconds("querier_" + name);
  net::AddUnary(http, grpc, "/querier.v1.QuerierService/" + name,
                [this, method, answer, &seconds](const net::UnaryRequest& request,
                                                 const net::UnaryRespond& respond) {
                  const bool accepted = RunOnWorker<std::string>(
                      workers_, {.path = request.method,
                                 .cancel = request.cancel,
                                 .timeout_ns = operations_.query_timeout_ns,
                                 .memory_bytes = operations_.query_memory_bytes,
                                 .seconds = &seconds,
                                 .answer = [this, method, answer,
                                            request] { return Answer(method, request, answer); },
                                 .respond = respond});
                  if (!accepted) respond(TooBusy());
                });
}

Result<std::string> PyroscopeApi::Answer(QuerierMethod method, const net::UnaryRequest& request,
                                         Method answer) {
  Caller caller{.cancel = request.cancel};
  WHEREFORE_ASSIGN_OR_RETURN(caller.tenant, operations_.require_tenant(request.headers));
  WHEREFORE_ASSIGN_OR_RETURN(caller.client, ReadCapabilities(request.headers));
  std::string bytes;
  if (method == QuerierMethod::kDiff) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto diff,
                               formats::DecodeDiffRequest(*request.body, request.json));
    WHEREFORE_ASSIGN_OR_RETURN(bytes, Diff(caller, diff));
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const auto message,
                               formats::DecodeQuerierRequest(method, *request.body, request.json));
    WHEREFORE_ASSIGN_OR_RETURN(bytes, (this->*answer)(caller, message));
  }
  return request.json ? formats::QuerierJson(method, bytes) : std::move(bytes);
}

Result<std::string> PyroscopeApi::Nothing(const Caller& /*caller*/,
                                          const formats::QuerierRequest& /*request*/) {
  return std::string();
}

}  // namespace wherefore::api
