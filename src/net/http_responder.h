// The handler's end of a request: takes one answer, from any thread, or gives 500 when the last
// copy goes away without one. Internal to src/net.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "net/http.h"
#include "net/http_guard.h"
#include "net/http_response.h"
#include "net/http_session.h"

namespace wherefore::net {

// The tie between a connection and the request its handler works on. The connection cuts it when it
// ends, so an answer that comes later finds nobody rather than freed memory.
struct RequestTie {
  Mutex mutex;
  HttpConnection* connection GUARDED_BY(mutex) = nullptr;
  // While the handler is being called: its thread, whose answers need not be posted.
  std::thread::id inline_thread GUARDED_BY(mutex);
};

class Responder {
 public:
  Responder(std::shared_ptr<HttpServerState> state, std::shared_ptr<RequestTie> tie,
            ResponseTraits traits, const HttpRequest& request)
      : traits_(traits),
        path_(request.path),
        content_type_(request.Header("Content-Type")),
        state_(std::move(state)),
        tie_(std::move(tie)) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();
  void Deliver(HttpResponse response);
  // Unless it has been answered.
  void Refuse(const Refusal& refusal);

 private:
  [[nodiscard]] HttpResponse Refusing(const Refusal& refusal) const;
  // Ready to be written; another one when too many answers wait to be read.
  [[nodiscard]] PreparedResponse Prepare(HttpResponse response) const;

  const ResponseTraits traits_;
  const std::string path_;  // of the request, which decide what a refusal looks like
  const std::string content_type_;
  const std::shared_ptr<HttpServerState> state_;
  std::atomic<bool> answered_{false};
  const std::shared_ptr<RequestTie> tie_;
};

// Gives the request to the router. A handler that forgets to answer has answered 500 when the
// caller's reference is the last and goes away; one that gets no memory has answered 503.
void CallHandler(const Router& router, HttpRequest request,
                 const std::shared_ptr<Responder>& responder);

// A refusal as the request's route writes it, with the headers that belong to its status.
[[nodiscard]] HttpResponse RefusalResponse(const Router& router, const HttpRequest& request,
                                           const Refusal& refusal);

}  // namespace wherefore::net
