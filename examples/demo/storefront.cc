// storefront: takes an order from a customer, checks it, has it processed, answers.
#include <cctype>
#include <string>

#include <wherefore/tracer.h>

#include "http.h"
#include "json.h"
#include "services.h"

namespace demo {
namespace {

// Every line of an order must name a product and a quantity.
[[gnu::noinline]] bool ValidateInput(const std::string& body) {
  const wherefore::Span span("validate-input");
  const Json order = ParseJson(body);
  for (const Json& line : order["lines"].items) {
    if (line["product"].text.empty() || line["quantity"].number <= 0) return false;
    for (const char c : line["product"].text) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') return false;
    }
  }
  return !order["lines"].items.empty();
}

[[gnu::noinline]] std::string SendResponse(const Json& result) {
  const wherefore::Span span("send-response");
  return WriteJson(result);
}

Response Handle(const Ports& ports, const Request& request) {
  wherefore::Span span("api-request", wherefore::SpanKind::kServer,
                       wherefore::Extract(request.traceparent));
  span.Set("http.route", request.path).Set("http.request.body.size", request.body.size());
  if (!ValidateInput(request.body)) {
    span.SetStatus(wherefore::SpanStatus::kError, "the order is not valid");
    return {.status = 400, .body = {}};
  }
  const Response answer = Call(
      ports.orders,
      {.path = "/process", .traceparent = wherefore::Inject(span.context()), .body = request.body});
  if (answer.status != 200) {
    span.SetStatus(wherefore::SpanStatus::kError, "orders did not answer");
    return {.status = 502, .body = {}};
  }
  return {.status = 200, .body = SendResponse(ParseJson(answer.body))};
}

}  // namespace

bool RunStorefront(const Ports& ports) {
  return Serve(ports.storefront,
               [ports](const Request& request) { return Handle(ports, request); });
}

}  // namespace demo
