#include "api/api.h"

#include <exception>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"

namespace wherefore::api {

void Api::AddRoutes(net::Router& router) {
  AddQueryRoutes(router);
  AddTraceRoutes(router);
  AddServerRoutes(router);
}

void Api::AddQuery(net::Router& router, std::string method, std::string pattern, std::string name,
                   Answer answer) {
  Histogram& seconds = Metrics::Global().GetHistogram(
      "wherefore_api_seconds", "Time to answer an API request.", {{"route", name}});
  auto shared = std::make_shared<Answer>(std::move(answer));
  // Deleting and backing up take as long as they take.
  const std::int64_t timeout = method == "GET" ? operations_.query_timeout_ns : 0;
  router.Add(
      std::move(method), std::move(pattern),
      [this, shared, &seconds, timeout](net::HttpRequest request, const net::Respond& respond) {
        request.headers[":tenant"] = std::to_string(operations_.tenant_of(request));
        auto work = [shared, &seconds, timeout, request = std::move(request), respond] {
          const std::int64_t start = MonotonicNs();
          if (timeout > 0) request.cancel.SetDeadline(start + timeout);
          Result<net::HttpResponse> result = Error(Code::kInternal, "not answered");
          try {
            result = (*shared)(request);
          } catch (const std::exception& e) {
            // bad_alloc and libraries; our own code does not throw.
            Log(LogLevel::kError, "query failed", {{"path", request.path}, {"error", e.what()}});
            result =
                Error(Code::kLimit, std::string("the query could not be answered: ") + e.what());
          }
          seconds.ObserveNs(MonotonicNs() - start);
          respond(result ? *std::move(result) : net::JsonError(result.error()));
        };
        if (!workers_.Submit(std::move(work))) {
          net::HttpResponse busy =
              net::JsonError(Error(Code::kLimit, "too many queries are waiting; try again"));
          busy.headers["Retry-After"] = "1";
          respond(std::move(busy));
        }
      });
}

}  // namespace wherefore::api
