#include "api/api.h"

#include "api/run.h"

namespace wherefore::api {

void Api::AddRoutes(net::Router& router) {
  AddQueryRoutes(router);
  AddTraceRoutes(router);
  AddServerRoutes(router);
}

void Api::AddQuery(net::Router& router, std::string method, std::string pattern, std::string name,
                   Answer answer) {
  Histogram& seconds = AnswerSeconds(name);
  auto shared = std::make_shared<Answer>(std::move(answer));
  // Deleting and backing up take as long as they take.
  const std::int64_t timeout = method == "GET" ? operations_.query_timeout_ns : 0;
  router.Add(
      std::move(method), std::move(pattern),
      [this, shared, &seconds, timeout](net::HttpRequest request, const net::Respond& respond) {
        request.headers[":tenant"] = std::to_string(operations_.tenant_of(request));
        const std::string path = request.path;
        const CancelToken cancel = request.cancel;
        const bool accepted = RunOnWorker<net::HttpResponse>(
            workers_,
            {.path = path,
             .cancel = cancel,
             .timeout_ns = timeout,
             .seconds = &seconds,
             .answer = [shared, request = std::move(request)] { return (*shared)(request); },
             .respond =
                 [respond](Result<net::HttpResponse> result) {
                   respond(result ? *std::move(result) : net::JsonError(result.error()));
                 }});
        if (!accepted) {
          net::HttpResponse busy = net::JsonError(TooBusy());
          busy.headers["Retry-After"] = "1";
          respond(std::move(busy));
        }
      });
}

}  // namespace wherefore::api
