// Jaeger's query interface (the JSON of its own page and of Grafana's Jaeger datasource) on port
// 4040: services, operations, traces by id, search, dependencies; at /api/... and, for a datasource
// with a URL of its own, at /jaeger/api/.... docs/api.md lists the routes.
//
// Answers are {"data", "total", "limit", "offset", "errors"}; an unknown trace is 404 with an entry
// in errors. Queries are answered by Workers.
#pragma once

#include <string>

#include "api/api.h"
#include "base/result.h"
#include "net/http.h"
#include "net/worker_pool.h"
#include "query/context.h"

namespace wherefore::api {

class JaegerApi {
 public:
  JaegerApi(query::QueryContext& context, net::Workers& workers, Operations operations)
      : context_(context), workers_(workers), operations_(std::move(operations)) {}

  // Adds every route; this must outlive the router.
  void AddRoutes(net::Router& router);

 private:
  using Answer = Result<net::HttpResponse> (JaegerApi::*)(const net::HttpRequest&);
  Result<net::HttpResponse> Services(const net::HttpRequest& request);
  Result<net::HttpResponse> OperationNames(const net::HttpRequest& request);
  Result<net::HttpResponse> OperationList(const net::HttpRequest& request);
  Result<net::HttpResponse> OneTrace(const net::HttpRequest& request);
  Result<net::HttpResponse> Search(const net::HttpRequest& request);
  Result<net::HttpResponse> Dependencies(const net::HttpRequest& request);

  Result<std::vector<std::string>> NamesOf(const net::HttpRequest& request,
                                           const std::string& service);

  query::QueryContext& context_;
  net::Workers& workers_;
  Operations operations_;
};

}  // namespace wherefore::api
