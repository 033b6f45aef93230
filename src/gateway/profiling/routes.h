// GET, POST, DELETE /api/v1/profiling and /api/v1/profiling/{service}: whether services are
// profiled (docs/api.md). Answers as a program's own handler would: "Profiling enabled", "Profiling
// disabled", {"enabled":true}; with ?instances=true also what was said about each service, and what
// each instance made of it.
#pragma once

#include "gateway/profiling/control.h"
#include "gateway/profiling/opamp_server.h"
#include "net/http.h"

namespace wherefore::gateway {

// Both outlive the router.
void AddProfilingRoutes(net::Router& router, ProfilingControl& control, const OpampServer& opamp,
                        bool tenants);

}  // namespace wherefore::gateway
