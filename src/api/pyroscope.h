// Pyroscope's query interface on port 4040 and over gRPC: what Grafana's datasource, Profiles
// Drilldown and profilecli ask for. docs/api.md lists the routes and where answers differ.
//
// Methods of querier.v1.QuerierService take protobuf or JSON and answer in kind; errors are in
// Connect's form. Snapshots are added up over time here, as Pyroscope does it; our own API averages
// them. Requests are decoded and answered by Workers; a query ends early when its client goes away
// or its time is up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/pyroscope_request.h"
#include "base/result.h"
#include "net/http.h"
#include "net/unary.h"
#include "net/worker_pool.h"
#include "query/context.h"

namespace wherefore::api {

class PyroscopeApi {
 public:
  PyroscopeApi(query::QueryContext& context, net::Workers& workers, Operations operations)
      : context_(context), workers_(workers), operations_(std::move(operations)) {}

  // Adds every route and method; this must outlive both routers.
  void AddRoutes(net::Router& http, net::GrpcRouter& grpc);

  // Query parameters of the older routes; of several with one name the first counts.
  using HttpParameters = std::map<std::string, std::string, std::less<>>;

 private:
  // Who asks, and for how long.
  struct Caller {
    std::uint32_t tenant = 0;
    ClientCapabilities client;
    CancelToken cancel;
  };
  using Method = Result<std::string> (PyroscopeApi::*)(const Caller&,
                                                       const formats::QuerierRequest&);
  void AddMethod(net::Router& http, net::GrpcRouter& grpc, formats::QuerierMethod method,
                 const std::string& name, net::WorkKind kind, Method answer);
  Result<std::string> Answer(formats::QuerierMethod method, const net::UnaryRequest& request,
                             Method answer);

  // pyroscope_labels.cc
  Result<std::string> ProfileTypes(const Caller& caller, const formats::QuerierRequest& request);
  Result<std::string> LabelNames(const Caller& caller, const formats::QuerierRequest& request);
  Result<std::string> LabelValues(const Caller& caller, const formats::QuerierRequest& request);
  Result<std::string> Series(const Caller& caller, const formats::QuerierRequest& request);
  Result<std::string> ProfileStats(const Caller& caller, const formats::QuerierRequest& request);
  // pyroscope_flame.cc
  Result<std::string> MergeStacktraces(const Caller& caller,
                                       const formats::QuerierRequest& request);
  Result<std::string> MergeProfile(const Caller& caller, const formats::QuerierRequest& request);
  Result<std::string> Diff(const Caller& caller, const formats::DiffRequest& request);
  Result<formats::FlameGraph> DiffGraph(const Caller& caller, const formats::DiffRequest& request);
  Result<profile::FlameTree> Tree(const Caller& caller, const formats::QuerierRequest& request,
                                  std::size_t max_nodes = 0);
  Result<std::string> Pprof(const Caller& caller, const formats::QuerierRequest& request);
  static std::string Dot(const profile::FlameTree& tree, std::int64_t max_nodes);
  // pyroscope_series.cc
  Result<std::string> SelectSeries(const Caller& caller, const formats::QuerierRequest& request);
  using TimeSeriesList = std::vector<formats::TimeSeries>;
  Result<TimeSeriesList> TimeSeriesOf(const Caller& caller, const formats::QuerierRequest& request);
  // pyroscope_heatmap.cc
  Result<> AddExemplars(const Caller& caller, const formats::QuerierRequest& request,
                        TimeSeriesList& series);
  Result<std::string> SelectHeatmap(const Caller& caller, const formats::QuerierRequest& request);
  Result<TimeSeriesList> CallSiteSeries(const Caller& caller,
                                        const formats::QuerierRequest& request);
  // pyroscope_render.cc
  using LegacyRoute = Result<net::HttpResponse> (PyroscopeApi::*)(const Caller&,
                                                                  const HttpParameters&);
  void AddLegacyRoutes(net::Router& router);
  void AddSmallServices(net::Router& http, net::GrpcRouter& grpc);  // pyroscope_small.cc
  // `since`: where a query begins that names no start.
  void AddLegacyRoute(net::Router& router, const std::string& path, const std::string& name,
                      net::WorkKind kind, std::string_view since, LegacyRoute answer);
  Result<net::HttpResponse> Render(const Caller& caller, const HttpParameters& p);
  Result<net::HttpResponse> RenderDiff(const Caller& caller, const HttpParameters& p);
  Result<net::HttpResponse> LegacyLabels(const Caller& caller, const HttpParameters& p);
  Result<net::HttpResponse> LegacyLabelValues(const Caller& caller, const HttpParameters& p);
  Result<net::HttpResponse> LegacyApps(const Caller& caller, const HttpParameters& p);

  Result<std::string> Nothing(const Caller& caller, const formats::QuerierRequest& request);

  query::QueryContext& context_;
  net::Workers& workers_;
  Operations operations_;
};

}  // namespace wherefore::api
