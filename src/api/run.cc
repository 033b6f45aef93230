#include "api/run.h"

#include <memory>

namespace wherefore::api {

void AddHttpQuestion(net::Router& router, net::Workers& workers, HttpQuestion question) {
  const auto q = std::make_shared<const HttpQuestion>(std::move(question));
  Histogram& seconds = AnswerSeconds(q->name);
  router.Add(q->method, q->pattern,
             [q, &workers, &seconds](net::HttpRequest request, const net::Respond& respond) {
               auto shared = std::make_shared<net::HttpRequest>(std::move(request));
               const bool accepted = RunOnWorker<net::HttpResponse>(
                   workers,
                   {.path = shared->path,
                    .cancel = shared->cancel,
                    .timeout_ns = q->timeout_ns,
                    .memory_bytes = q->memory_bytes,
                    .seconds = &seconds,
                    .kind = q->kind,
                    .answer = [q, shared] { return q->answer(*shared); },
                    .respond =
                        [q, respond](Result<net::HttpResponse> result) {
                          respond(result ? *std::move(result) : q->failure(result.error()));
                        }});
               if (accepted) return;
               net::HttpResponse busy = q->failure(net::TooBusy(q->kind));
               busy.headers["Retry-After"] = "1";
               respond(std::move(busy));
             });
}

}  // namespace wherefore::api
