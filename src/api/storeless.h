// The main port of a server that keeps no data: readiness, metrics and status; every question gets
// 501. Any thread.
#pragma once

#include "api/api.h"
#include "net/http.h"

namespace wherefore::api {

void AddStorelessRoutes(net::Router& router, Operations operations);

// The answer of /api/v1/status.
[[nodiscard]] net::HttpResponse StatusJson(const std::vector<Status>& parts,
                                           const std::string& version);
[[nodiscard]] net::HttpResponse MetricsText();
[[nodiscard]] net::HttpResponse Readiness(const std::string& not_ready_reason);

}  // namespace wherefore::api
