// Api: pins, and what is stored of each kind and day and when it goes.
#include <fmt/format.h>

#include "api/api.h"
#include "api/request.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

void WritePin(JsonWriter& json, const PinnedWindow& pin) {
  json.BeginObject().Field("id", pin.id).Field("service", pin.service);
  json.Field("from", FormatTime(pin.range.from_ns)).Field("to", FormatTime(pin.range.to_ns));
  if (pin.until_ns > 0) json.Field("until", FormatTime(pin.until_ns));
  json.Field("why", pin.why).Field("time", FormatTime(pin.time_ns)).EndObject();
}

Result<PinnedWindow> ReadPin(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p,
                             Parameters::Read(request, {"query", "from", "to", "why"}));
  if (p.Get("from").empty())
    return Error(Code::kInvalid, "parameter 'from': a pin says when its window begins");
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  PinnedWindow pin{
      .service = selection.selector.ExactService(), .range = selection.range, .why = p.Get("why")};
  if (pin.service.empty() || !selection.selector.label_matchers().empty() ||
      !selection.selector.narrowing().empty())
    return Error(Code::kInvalid, "parameter 'query': a pin is of one service, without labels");
  return pin;
}

HttpResponse KeptJson(const std::vector<KeptDay>& days) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("days").BeginArray();
  for (const KeptDay& day : days) {
    json.BeginObject().Field("kind", day.kind).Field("day", day.day).Field("bytes", day.bytes);
    json.Field("rows", day.rows);
    if (day.goes_ns > 0) json.Field("goes", FormatTime(day.goes_ns));
    json.Field("pinned", day.pinned).EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

}  // namespace

void Api::AddPinRoutes(net::Router& router) {
  AddRoute(router, "GET", "/api/v1/pins", "pins", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             WHEREFORE_ASSIGN_OR_RETURN(const auto pins, operations_.pins(request.tenant));
             HttpResponse response;
             JsonWriter json(response.body);
             json.BeginObject().Key("pins").BeginArray();
             for (const PinnedWindow& pin : pins) WritePin(json, pin);
             json.EndArray().EndObject();
             return response;
           });
  AddRoute(router, "POST", "/api/v1/pins", "pin", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(PinnedWindow pin, ReadPin(request));
             WHEREFORE_ASSIGN_OR_RETURN(pin, operations_.set_pin(request.tenant, std::move(pin)));
             HttpResponse response;
             JsonWriter json(response.body);
             WritePin(json, pin);
             return response;
           });
  AddRoute(router, "DELETE", "/api/v1/pins/{pin}", "unpin", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             WHEREFORE_RETURN_IF_ERROR(
                 operations_.remove_pin(request.tenant, std::string(request.Header(":pin"))));
             return HttpResponse{.body = "{}"};
           });
  AddRoute(router, "GET", "/api/v1/storage", "storage", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             WHEREFORE_ASSIGN_OR_RETURN(const auto days, operations_.kept(request.tenant));
             return KeptJson(days);
           });
}

}  // namespace wherefore::api
