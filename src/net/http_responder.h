// The handler's end of a request: takes one answer from any thread, or answers 500 when the last
// copy is destroyed without one. Internal to src/net.
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

// Links a connection to the request its handler works on. The connection clears it when it ends, so
// a late answer finds no connection instead of freed memory.
struct RequestLink {
  Mutex mutex;
  HttpConnection* connection GUARDED_BY(mutex) = nullptr;
  // The thread that is calling the handler; answers from it need no Post().
  std::thread::id inline_thread GUARDED_BY(mutex);
};

class Responder {
 public:
  Responder(std::shared_ptr<HttpServerState> state, std::shared_ptr<RequestLink> link,
            ResponseTraits traits, const HttpRequest& request)
      : traits_(traits),
        path_(request.path),
        content_type_(request.Header("Content-Type")),
        state_(std::move(state)),
        link_(std::move(link)) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();
  void Deliver(HttpResponse response);
  // Does nothing if the request was answered already.
  void Refuse(const Refusal& refusal);

 private:
  [[nodiscard]] HttpResponse Refusing(const Refusal& refusal) const;
  // Ready to be written. Becomes a 503 if too many answers wait to be read.
  [[nodiscard]] PreparedResponse Prepare(HttpResponse response) const;

  const ResponseTraits traits_;
  const std::string path_;  // path and content type decide the format of refusals
  const std::string content_type_;
  const std::shared_ptr<HttpServerState> state_;
  std::atomic<bool> answered_{false};
  const std::shared_ptr<RequestLink> link_;
};

// Passes the request to the router. A handler that never answers results in 500, when the last
// reference is gone; one that runs out of memory in 503.
void CallHandler(const Router& router, HttpRequest request,
                 const std::shared_ptr<Responder>& responder);

// A refusal in the format of the request's route, with the headers its status needs.
[[nodiscard]] HttpResponse RefusalResponse(const Router& router, const HttpRequest& request,
                                           const Refusal& refusal);

}  // namespace wherefore::net
