// A query on its way through a worker: run there with a deadline, measured, and answered whatever
// happens, also when a library throws.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "base/result.h"
#include "net/http.h"
#include "net/worker_pool.h"

namespace wherefore::api {

// How long answering takes, by name of the route.
[[nodiscard]] inline Histogram& AnswerSeconds(const std::string& name) {
  return Metrics::Global().GetHistogram("wherefore_api_seconds", "Time to answer an API request.",
                                        {{"route", name}});
}

// Waits until everything that was acknowledged before can be seen.
using CatchUp = std::function<Result<>(const CancelToken&)>;

template <typename T>
struct Query {
  std::string path;  // for the log
  CancelToken cancel;
  std::int64_t timeout_ns = 0;    // 0: as long as it takes
  std::int64_t memory_bytes = 0;  // 0: no limit
  Histogram* seconds = nullptr;
  net::WorkKind kind = net::WorkKind::kHeavy;
  CatchUp catch_up;                        // before it is answered; may be empty
  std::function<Result<T>()> answer;       // on a worker
  std::function<void(Result<T>)> respond;  // once, on the same worker
};

// False when too many of its kind wait already: nobody was answered, the caller does it.
template <typename T>
[[nodiscard]] bool RunOnWorker(net::Workers& workers, Query<T> query) {
  const net::WorkKind kind = query.kind;
  return workers.Submit(kind, [q = std::move(query)] {
    const std::int64_t start = MonotonicNs();
    if (q.timeout_ns > 0) q.cancel.SetDeadline(start + q.timeout_ns);
    q.cancel.SetMemoryLimit(q.memory_bytes);
    Result<T> result = Error(Code::kInternal, "not answered");
    try {
      const Result<> caught_up = q.catch_up ? q.catch_up(q.cancel) : Result<>();
      result = caught_up ? q.answer() : Result<T>(caught_up.error());
    } catch (const std::bad_alloc&) {
      result = ShortOfMemory();
    } catch (const std::exception& e) {
      // Libraries; our own code does not throw.
      Log(LogLevel::kError, "query failed", {{"path", q.path}, {"error", e.what()}});
      result = Error(Code::kLimit, std::string("the query could not be answered: ") + e.what());
    }
    q.seconds->ObserveNs(MonotonicNs() - start);
    q.respond(std::move(result));
  });
}

// A route whose answers are worked out by a worker.
struct HttpQuery {
  std::string method = "GET";
  std::string pattern;
  std::string name;  // of its time in the metrics
  net::WorkKind kind = net::WorkKind::kHeavy;
  std::int64_t timeout_ns = 0;
  std::int64_t memory_bytes = 0;
  CatchUp catch_up;
  std::function<Result<net::HttpResponse>(net::HttpRequest&)> answer;
  std::function<net::HttpResponse(const Error&)> failure;  // how errors look
  // Adds what holds for every answer of a worker, errors included; may be empty.
  std::function<void(const net::HttpRequest&, net::HttpResponse&)> mark;
};
void AddHttpQuery(net::Router& router, net::Workers& workers, HttpQuery query);

}  // namespace wherefore::api
