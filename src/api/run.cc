#include "api/run.h"

#include <memory>

namespace wherefore::api {

void AddHttpQuery(net::Router& router, net::Workers& workers, HttpQuery query) {
  const auto q = std::make_shared<const HttpQuery>(std::move(query));
  Histogram& seconds = AnswerSeconds(q->name);
  router.Add(q->method, q->pattern,
             [q, &workers, &seconds](net::HttpRequest request, const net::Respond& respond) {
               auto shared = std::make_shared<net::HttpRequest>(std::move(request));
               const bool accepted = RunOnWorker<net::HttpResponse>(
                   workers, {.path = shared->path,
                             .cancel = shared->cancel,
                             .timeout_ns = q->timeout_ns,
                             .memory_bytes = q->memory_bytes,
                             .seconds = &seconds,
                             .kind = q->kind,
                             .catch_up = q->catch_up,
                             .answer = [q, shared] { return q->answer(*shared); },
                             .respond =
                                 [q, shared, respond](Result<net::HttpResponse> result) {
                                   net::HttpResponse response =
                                       result ? *std::move(result) : q->failure(result.error());
                                   if (q->mark) q->mark(*shared, response);
                                   respond(std::move(response));
                                 }});
               if (accepted) return;
               net::HttpResponse busy = q->failure(net::TooBusy(q->kind));
               busy.headers["Retry-After"] = "1";
               respond(std::move(busy));
             });
}

}  // namespace wherefore::api
