// Decodes profiles uploaded by Pyroscope's clients: /ingest in all its formats, and Push. Pure
// functions; any thread. For what differs between senders see senders.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/formats.h"
#include "formats/pyroscope/upload.h"

namespace wherefore::formats {

// One profile file of a request.
struct UploadedProfile {
  DecodedProfiles decoded;
  bool cumulative = false;  // the server must compute the differences
};

// An upload to /ingest: parameters of its URL, and its body.
struct IngestUpload {
  AppName app;
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  std::int64_t sample_rate = 100;
  std::string spy = "unknown";
  std::string format;
  std::string media_type;    // without parameters
  std::string content_type;  // with parameters: multipart has its boundary there
  std::shared_ptr<const std::string> body;

  [[nodiscard]] std::uint64_t time_ns() const { return static_cast<std::uint64_t>(from_ns); }
  [[nodiscard]] std::uint64_t duration_ns() const {
    return until_ns > from_ns ? static_cast<std::uint64_t>(until_ns - from_ns) : 0;
  }
};
[[nodiscard]] Result<std::vector<UploadedProfile>> DecodeIngest(const IngestUpload& upload);

// push.v1.PushRequest. A profile that cannot be used is left out and named in `refused`.
struct DecodedPush {
  std::vector<UploadedProfile> profiles;
  std::vector<std::string> refused;
};
[[nodiscard]] Result<DecodedPush> DecodePushRequest(std::string_view body, bool json,
                                                    std::int64_t now_ns);

}  // namespace wherefore::formats
