// Any profile file this program reads, by its content.
#include "formats/formats.h"

namespace wherefore::formats {

Result<DecodedProfiles> DecodeProfileFile(const std::shared_ptr<const std::string>& bytes,
                                          const std::string& service) {
  switch (Recognise(*bytes)) {
    case FileFormat::kPprof:
      return DecodePprof(bytes, {.service = service});
    case FileFormat::kOtlpProfiles:
      return DecodeOtlpProfiles(bytes);
    case FileFormat::kOtlpProfilesJson:
      return DecodeOtlpProfilesJson(bytes);
    case FileFormat::kFolded:
      return DecodeFolded(bytes, {.service = service});
    case FileFormat::kJfr:
      return DecodeJfr(bytes, {.service = service, .sample_rate = 0});
    default:
      return Error(Code::kInvalid,
                   "not a profile in a format this program reads (pprof, OTLP profiles, JFR, "
                   "folded stacks)");
  }
}

}  // namespace wherefore::formats
