// OTLP's JSON, both signals and directions, through the binary form.
#include "formats/wire/json.h"

#include "formats/formats.h"
#include "formats/otlp/layout.h"
#include "formats/otlp/schema.h"

namespace wherefore::formats {

Result<DecodedProfiles> DecodeOtlpProfilesJson(std::shared_ptr<const std::string> body) {
  const std::shared_ptr<const std::string> text = std::move(body);
  WHEREFORE_ASSIGN_OR_RETURN(std::string binary, JsonToBinary(*text, ProfilesSchema()));
  // JSON has names instead of numbers, so it is always the current layout.
  return DecodeOtlpProfilesAs(std::make_shared<const std::string>(std::move(binary)),
                              Layout::kCurrent);
}
Result<DecodedSpans> DecodeOtlpTracesJson(std::shared_ptr<const std::string> body) {
  const std::shared_ptr<const std::string> text = std::move(body);
  WHEREFORE_ASSIGN_OR_RETURN(std::string binary, JsonToBinary(*text, TracesSchema()));
  return DecodeOtlpTraces(std::make_shared<const std::string>(std::move(binary)));
}
std::string EncodeOtlpProfilesJson(const profile::Batch& batch) {
  return BinaryToJson(EncodeOtlpProfiles(batch), ProfilesSchema());
}
std::string EncodeOtlpTracesJson(const profile::SpanBatch& batch) {
  return BinaryToJson(EncodeOtlpTraces(batch), TracesSchema());
}

Result<std::string> OtlpToJson(Signal signal, std::shared_ptr<const std::string> body) {
  if (signal == Signal::kTraces) {
    WHEREFORE_ASSIGN_OR_RETURN(const DecodedSpans spans, DecodeOtlpTraces(std::move(body)));
    return EncodeOtlpTracesJson(spans.data);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const DecodedProfiles profiles, DecodeOtlpProfiles(std::move(body)));
  return EncodeOtlpProfilesJson(profiles.data);
}

}  // namespace wherefore::formats
