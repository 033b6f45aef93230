// Responses: Export*ServiceResponse and google.rpc.Status, binary or JSON; to senders, and from the
// servers we send to.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "formats/formats.h"
#include "formats/wire/json.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

namespace rpc {
constexpr Tag kPartialSuccess = 1, kRejected = 1, kMessage = 2;  // Export*ServiceResponse
constexpr Tag kCode = 1, kStatusMessage = 2, kDetails = 3;       // google.rpc.Status
constexpr Tag kTypeUrl = 1, kValue = 2;                          // google.protobuf.Any
constexpr Tag kViolations = 1, kField = 1, kDescription = 2;     // google.rpc.BadRequest
constexpr Tag kRetryDelay = 1, kSeconds = 1, kNanos = 2;         // google.rpc.RetryInfo
constexpr std::string_view kBadRequest = "type.googleapis.com/google.rpc.BadRequest";
constexpr std::string_view kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";
}  // namespace rpc

void AddDetail(PbfWriter& status, std::string_view type, const std::string& value) {
  PbfWriter any(status, rpc::kDetails);
  any.add_string(rpc::kTypeUrl, type.data(), type.size());
  any.add_bytes(rpc::kValue, value);
}

std::string StatusBinary(const RpcStatus& status) {
  std::string out;
  PbfWriter w(out);
  if (status.code != 0) w.add_int32(rpc::kCode, status.code);
  if (!status.message.empty()) w.add_string(rpc::kStatusMessage, status.message);
  if (!status.field.empty()) {
    std::string detail;
    PbfWriter d(detail);
    PbfWriter violation(d, rpc::kViolations);
    violation.add_string(rpc::kField, status.field);
    violation.add_string(rpc::kDescription, status.message);
    violation.commit();
    AddDetail(w, rpc::kBadRequest, detail);
  }
  if (status.retry_delay_ms >= 0) {
    std::string detail;
    PbfWriter d(detail);
    PbfWriter delay(d, rpc::kRetryDelay);
    delay.add_int64(rpc::kSeconds, status.retry_delay_ms / 1000);
    delay.add_int32(rpc::kNanos,
                    static_cast<std::int32_t>(status.retry_delay_ms % 1000 * 1'000'000));
    delay.commit();
    AddDetail(w, rpc::kRetryInfo, detail);
  }
  return out;
}

std::string StatusJson(const RpcStatus& status) {
  std::string out;
  JsonWriter w(out);
  w.BeginObject().Field("code", status.code).Field("message", status.message);
  if (!status.field.empty() || status.retry_delay_ms >= 0) {
    w.Key("details").BeginArray();
    if (!status.field.empty()) {
      w.BeginObject().Field("@type", rpc::kBadRequest).Key("fieldViolations").BeginArray();
      w.BeginObject().Field("field", status.field).Field("description", status.message).EndObject();
      w.EndArray().EndObject();
    }
    if (status.retry_delay_ms >= 0) {
      w.BeginObject().Field("@type", rpc::kRetryInfo);
      w.Field("retryDelay",
              fmt::format("{}.{:03}s", status.retry_delay_ms / 1000, status.retry_delay_ms % 1000));
      w.EndObject();
    }
    w.EndArray();
  }
  w.EndObject();
  return out;
}

}  // namespace

std::string EncodeExportResponse(Signal signal, bool json, std::uint64_t rejected,
                                 std::string_view message) {
  const bool all_well = rejected == 0 && message.empty();
  std::string out;
  if (!json) {
    if (all_well) return out;
    PbfWriter root(out);
    PbfWriter partial(root, rpc::kPartialSuccess);
    if (rejected != 0) partial.add_uint64(rpc::kRejected, rejected);
    if (!message.empty()) partial.add_string(rpc::kMessage, message.data(), message.size());
    partial.commit();
    return out;
  }
  JsonWriter w(out);
  w.BeginObject();
  if (!all_well) {
    w.Key("partialSuccess").BeginObject();
    if (rejected != 0) {
      w.Field(signal == Signal::kProfiles ? "rejectedProfiles" : "rejectedSpans",
              fmt::to_string(rejected));
    }
    if (!message.empty()) w.Field("errorMessage", message);
    w.EndObject();
  }
  w.EndObject();
  return out;
}

std::string EncodeRpcStatus(const RpcStatus& status, bool json) {
  return json ? StatusJson(status) : StatusBinary(status);
}

namespace {

// The parts of the answers' JSON that we read.
constexpr std::array<Field, 3> kPartialFields = {
    Field{"rejectedProfiles", rpc::kRejected, FieldKind::kInt64},
    Field{"rejectedSpans", rpc::kRejected, FieldKind::kInt64},
    Field{"errorMessage", rpc::kMessage, FieldKind::kString}};
constexpr Schema kPartialSchema{kPartialFields};
constexpr std::array<Field, 1> kResponseFields = {
    Field{"partialSuccess", rpc::kPartialSuccess, FieldKind::kMessage, false, &kPartialSchema}};
constexpr Schema kResponseSchema{kResponseFields};
constexpr std::array<Field, 2> kStatusFields = {
    Field{"code", rpc::kCode, FieldKind::kInt32},
    Field{"message", rpc::kStatusMessage, FieldKind::kString}};
constexpr Schema kStatusSchema{kStatusFields};

// The field of a message, or nothing.
std::string_view Inside(std::string_view message, Tag tag) {
  Pbf r = Reader(message);
  std::string_view found;
  while (r.next()) {
    if (r.tag_and_type() == LenKey(tag)) {
      found = GetView(r);
    } else {
      r.skip();
    }
  }
  return found;
}

std::int64_t NumberInside(std::string_view message, Tag tag) {
  Pbf r = Reader(message);
  std::int64_t found = 0;
  while (r.next()) {
    if (r.tag_and_type() == VarintKey(tag)) {
      found = r.get_int64();
    } else {
      r.skip();
    }
  }
  return found;
}

// Milliseconds of a RetryInfo; at most a day, whatever it says.
std::int64_t RetryDelay(std::string_view retry_info) {
  constexpr std::int64_t kLongest = 86'400;
  const std::string_view delay = Inside(retry_info, rpc::kRetryDelay);
  const std::int64_t seconds =
      std::clamp<std::int64_t>(NumberInside(delay, rpc::kSeconds), 0, kLongest);
  const std::int64_t nanos =
      std::clamp<std::int64_t>(NumberInside(delay, rpc::kNanos), 0, 999'999'999);
  return seconds * 1000 + nanos / 1'000'000;
}

template <typename T, typename Decode>
T DecodedOrEmpty(std::string_view bytes, bool json, const Schema& schema, Decode decode) {
  std::string binary;
  if (json) {
    auto converted = JsonToBinary(bytes, schema);
    if (!converted) return {};
    binary = *std::move(converted);
    bytes = binary;
  }
  try {
    return decode(bytes);
  } catch (const protozero::exception&) {
    return {};
  }
}

}  // namespace

ExportAnswer DecodeExportResponse(bool json, std::string_view bytes) {
  return DecodedOrEmpty<ExportAnswer>(bytes, json, kResponseSchema, [](std::string_view binary) {
    const std::string_view partial = Inside(binary, rpc::kPartialSuccess);
    const std::int64_t rejected = NumberInside(partial, rpc::kRejected);
    return ExportAnswer{static_cast<std::uint64_t>(std::max<std::int64_t>(rejected, 0)),
                        std::string(Inside(partial, rpc::kMessage))};
  });
}

RpcStatus DecodeRpcStatus(bool json, std::string_view bytes) {
  return DecodedOrEmpty<RpcStatus>(bytes, json, kStatusSchema, [](std::string_view binary) {
    RpcStatus status{.code = static_cast<int>(NumberInside(binary, rpc::kCode)),
                     .message = std::string(Inside(binary, rpc::kStatusMessage))};
    Pbf r = Reader(binary);
    while (r.next()) {
      if (r.tag_and_type() != LenKey(rpc::kDetails)) {
        r.skip();
        continue;
      }
      const std::string_view any = GetView(r);
      if (Inside(any, rpc::kTypeUrl) == rpc::kRetryInfo)
        status.retry_delay_ms = RetryDelay(Inside(any, rpc::kValue));
    }
    return status;
  });
}

}  // namespace wherefore::formats
