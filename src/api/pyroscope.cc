#include "api/pyroscope.h"

#include "api/incomplete.h"
#include "api/run.h"

namespace wherefore::api {

using formats::QuerierMethod;

void PyroscopeApi::AddRoutes(net::Router& http, net::GrpcRouter& grpc) {
  using net::WorkKind;
  const auto add = [&](QuerierMethod method, const std::string& name, WorkKind kind,
                       Method answer) { AddMethod(http, grpc, method, name, kind, answer); };
  add(QuerierMethod::kProfileTypes, "ProfileTypes", WorkKind::kQuick, &PyroscopeApi::ProfileTypes);
  add(QuerierMethod::kLabelNames, "LabelNames", WorkKind::kQuick, &PyroscopeApi::LabelNames);
  add(QuerierMethod::kLabelValues, "LabelValues", WorkKind::kQuick, &PyroscopeApi::LabelValues);
  add(QuerierMethod::kSeries, "Series", WorkKind::kQuick, &PyroscopeApi::Series);
  add(QuerierMethod::kSelectMergeStacktraces, "SelectMergeStacktraces", WorkKind::kHeavy,
      &PyroscopeApi::MergeStacktraces);
  add(QuerierMethod::kSelectMergeSpanProfile, "SelectMergeSpanProfile", WorkKind::kHeavy,
      &PyroscopeApi::MergeStacktraces);
  add(QuerierMethod::kSelectMergeProfile, "SelectMergeProfile", WorkKind::kHeavy,
      &PyroscopeApi::MergeProfile);
  add(QuerierMethod::kSelectSeries, "SelectSeries", WorkKind::kHeavy, &PyroscopeApi::SelectSeries);
  add(QuerierMethod::kSelectHeatmap, "SelectHeatmap", WorkKind::kHeavy,
      &PyroscopeApi::SelectHeatmap);
  add(QuerierMethod::kDiff, "Diff", WorkKind::kHeavy, nullptr);
  add(QuerierMethod::kGetProfileStats, "GetProfileStats", WorkKind::kQuick,
      &PyroscopeApi::ProfileStats);
  add(QuerierMethod::kAnalyzeQuery, "AnalyzeQuery", WorkKind::kQuick, &PyroscopeApi::Nothing);
  AddLegacyRoutes(http);
  AddSmallServices(http, grpc);
}

void PyroscopeApi::AddMethod(net::Router& http, net::GrpcRouter& grpc, QuerierMethod method,
                             const std::string& name, net::WorkKind kind, Method answer) {
  Histogram& seconds = AnswerSeconds("querier_" + name);
  net::AddUnary(http, grpc, "/querier.v1.QuerierService/" + name,
                [this, method, kind, answer, &seconds](const net::UnaryRequest& request,
                                                       const net::UnaryRespond& respond) {
                  const bool accepted = RunOnWorker<std::string>(
                      workers_, {.path = request.method,
                                 .cancel = request.cancel,
                                 .timeout_ns = operations_.query_timeout_ns,
                                 .memory_bytes = operations_.query_memory_bytes,
                                 .seconds = &seconds,
                                 .kind = kind,
                                 .catch_up = operations_.catch_up,
                                 .answer = [this, method, answer,
                                            request] { return Answer(method, request, answer); },
                                 .respond = respond});
                  if (!accepted) respond(net::TooBusy(kind));
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
    MarkIncomplete(operations_, caller.tenant, AskedFor({&diff.left, &diff.right}),
                   *request.answer_headers);
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const auto message,
                               formats::DecodeQuerierRequest(method, *request.body, request.json));
    WHEREFORE_ASSIGN_OR_RETURN(bytes, (this->*answer)(caller, message));
    MarkIncomplete(operations_, caller.tenant, AskedFor({&message}), *request.answer_headers);
  }
  return request.json ? formats::QuerierJson(method, bytes) : std::move(bytes);
}

Result<std::string> PyroscopeApi::Nothing(const Caller& /*caller*/,
                                          const formats::QuerierRequest& /*request*/) {
  return std::string();
}

}  // namespace wherefore::api
