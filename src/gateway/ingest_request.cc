#include "gateway/ingest_request.h"

#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/pyroscope/time.h"

namespace wherefore::gateway {

Result<formats::IngestUpload> ReadIngest(const net::HttpRequest& request, std::int64_t now_ns) {
  formats::IngestUpload upload{.from_ns = now_ns, .until_ns = now_ns};
  upload.media_type = request.ContentType();
  upload.content_type = request.Header("Content-Type");
  upload.body = request.body;
  std::string name;
  for (const auto& [key, value] : request.QueryParameters()) {
    if (key == "name") {
      name = value;
    } else if ((key == "from" || key == "until") && !value.empty()) {
      const auto time = formats::ParsePyroscopeTime(value, now_ns);
      if (!time) {
        return Error(Code::kInvalid, fmt::format("{}: {}", key, time.error().message()));
      }
      (key == "from" ? upload.from_ns : upload.until_ns) = *time;
    } else if (key == "sampleRate") {
      // Senders of counts say 0. An invalid rate counts as missing.
      const std::optional<std::int64_t> rate = ParseInt(value);
      constexpr std::int64_t kFastest = 1'000'000'000;
      if (rate && *rate >= 0 && *rate <= kFastest) upload.sample_rate = *rate;
    } else if (key == "spyName" && !value.empty()) {
      upload.spy = value;
    } else if (key == "format") {
      upload.format = value;
    }
  }
  WHEREFORE_ASSIGN_OR_RETURN(upload.app, formats::ParseAppName(name));
  return upload;
}

}  // namespace wherefore::gateway
