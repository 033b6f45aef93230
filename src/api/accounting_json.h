// What answers about the time of spans share. Pure functions.
#pragma once

#include "api/request.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "query/accounting.h"
#include "query/context.h"
#include "query/path_flame.h"
#include "query/slow.h"
#include "query/stored_types.h"

namespace wherefore::api {

struct KnownOfServices;

// duration_ns, parts, parallel, waiting_for_children: fields of the object that is open.
void AppendAccount(JsonWriter& json, const query::Account& account);

// service and name, both needed, attribute=name=value, and the time range.
[[nodiscard]] Result<query::SpanSearch> ReadEndpoint(const Parameters& p);
// The same, where all requests of a service are meant when there is no name.
[[nodiscard]] Result<query::SpanSearch> ReadRequests(const Parameters& p);

// api_slow.cc
void AppendSlow(JsonWriter& json, const query::SlowAnswer& answer);
[[nodiscard]] Result<net::HttpResponse> AnswerSlow(query::QueryContext& context,
                                                   const net::HttpRequest& request);
[[nodiscard]] Result<net::HttpResponse> AnswerPaths(query::QueryContext& context,
                                                    const net::HttpRequest& request);
// api_explain.cc
[[nodiscard]] Result<net::HttpResponse> AnswerExplain(query::QueryContext& context,
                                                      const KnownOfServices& known,
                                                      const net::HttpRequest& request);
// lens, search, max_nodes, min_share and format of the request.
[[nodiscard]] Result<net::HttpResponse> AnswerPathFlame(const net::HttpRequest& request,
                                                        const Parameters& p,
                                                        query::PathFlame flame);

}  // namespace wherefore::api
