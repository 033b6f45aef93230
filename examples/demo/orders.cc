// orders: reads an order, checks it against the rules, prices it, reserves the goods.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <wherefore/tracer.h>

#include "http.h"
#include "json.h"
#include "services.h"

namespace demo {
namespace {

// Rules by which quantities are limited, checked line by line.
[[gnu::noinline]] void ValidateRules(const Json& order) {
  double worst = 0;
  for (const Json& line : order["lines"].items) {
    for (int rule = 1; rule <= 60; ++rule) {
      worst = std::max(worst, std::fmod(line["quantity"].number * rule, 97.0));
    }
  }
  if (worst > 1e6) throw std::runtime_error("no such quantity");
}

// The order as the books want it. Copies more than it needs to: the allocation hot spot.
[[gnu::noinline]] Json Transform(const Json& order) {
  Json priced{.kind = Json::Kind::kObject};
  Json lines{.kind = Json::Kind::kArray};
  double total = 0;
  for (const Json& line : order["lines"].items) {
    Json copy = line;
    const double price = 1 + std::sqrt(static_cast<double>(line["product"].text.size()));
    total += price * line["quantity"].number;
    copy.fields["price"] = {.kind = Json::Kind::kNumber, .number = price};
    lines.items.push_back(copy);
  }
  priced.fields["total"] = {.kind = Json::Kind::kNumber, .number = total};
  priced.fields["lines"] = lines;
  return priced;
}

Response Handle(const Ports& ports, const Request& request) {
  wherefore::Span span("process-data", wherefore::SpanKind::kServer,
                       wherefore::Extract(request.traceparent));
  const Json order = ParseJson(request.body);
  span.Set("order.lines", order["lines"].items.size());
  ValidateRules(order);
  const Json priced = Transform(order);
  const Response reserved =
      Call(ports.inventory, {.path = "/reserve",
                             .traceparent = wherefore::Inject(span.context()),
                             .body = std::to_string(order["lines"].items.size())});
  if (reserved.status != 200) {
    span.SetStatus(wherefore::SpanStatus::kError, "inventory did not answer");
    return {.status = 502, .body = {}};
  }
  return {.status = 200, .body = WriteJson(priced)};
}

}  // namespace

bool RunOrders(const Ports& ports) {
  return Serve(ports.orders, [ports](const Request& request) { return Handle(ports, request); });
}

}  // namespace demo
