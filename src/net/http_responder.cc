#include "net/http_responder.h"

#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/memory_budget.h"

namespace wherefore::net {

Responder::~Responder() {
  if (!answered_) Deliver(JsonError(Error(Code::kInternal, "the request got no answer")));
}

void Responder::Deliver(HttpResponse response) {
  if (answered_.exchange(true)) {
    Log(LogLevel::kError, "a request was answered twice; the second answer is dropped");
    return;
  }
  // Compression runs here, on the thread that did the work.
  PreparedResponse prepared = Prepare(std::move(response));
  MutexLock lock(link_->mutex);
  HttpConnection* const connection = link_->connection;
  if (connection == nullptr) return;  // counted as 499 when the connection ended
  if (link_->inline_thread == std::this_thread::get_id()) {
    connection->TakeInline(std::move(prepared));
    return;
  }
  auto owner = connection->weak_from_this().lock();
  if (!owner) return;
  connection->Post([owner, p = std::make_shared<PreparedResponse>(std::move(prepared))] {
    owner->TakePosted(std::move(*p));
  });
}

void Responder::Refuse(const Refusal& refusal) {
  if (!answered_) Deliver(Refusing(refusal));
}

HttpResponse Responder::Refusing(const Refusal& refusal) const {
  HttpRequest request{.path = path_};
  request.headers["Content-Type"] = content_type_;
  return RefusalResponse(*state_->router, request, refusal);
}

PreparedResponse Responder::Prepare(HttpResponse response) const {
  std::optional<Error> error;
  try {
    PreparedResponse prepared = PrepareResponse(std::move(response), traits_);
    prepared.hold = state_->unread_answers->Hold(prepared.body.size());
    if (prepared.hold) return prepared;
    error = UnreadAnswers::TooMany();
  } catch (const std::bad_alloc&) {
    error = ShortOfMemory();
  }
  return PrepareResponse(Refusing({503, *std::move(error)}), traits_);
}

void CallHandler(const Router& router, HttpRequest request,
                 const std::shared_ptr<Responder>& responder) {
  try {
    router.Handle(std::move(request),
                  [responder](HttpResponse response) { responder->Deliver(std::move(response)); });
  } catch (const std::bad_alloc&) {
    responder->Refuse({503, ShortOfMemory()});
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "a request handler failed", {{"error", e.what()}});
  }
}

HttpResponse RefusalResponse(const Router& router, const HttpRequest& request,
                             const Refusal& refusal) {
  HttpResponse response = router.Refuse(request, refusal.status, refusal.error);
  if (refusal.status == 429 || refusal.status == 503) {
    response.headers.try_emplace("Retry-After", "1");
  }
  if (refusal.status == 401) response.headers.try_emplace("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace wherefore::net
