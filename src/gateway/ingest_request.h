// A request to /ingest, understood: who sent what in which format, and the profiles in it. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/formats.h"
#include "net/http.h"

namespace wherefore::gateway {

// One profile file of a request.
struct UploadedProfile {
  formats::DecodedProfiles decoded;
  bool cumulative = false;  // its sender leaves taking differences to the server
};

// kInvalid for what is wrong with the parameters, kCorrupt for the body.
[[nodiscard]] Result<std::vector<UploadedProfile>> DecodeIngest(const net::HttpRequest& request,
                                                                std::int64_t now_ns);

// push.v1.PushRequest. A profile that cannot be used is left out and named in `refused`.
struct DecodedPush {
  std::vector<UploadedProfile> profiles;
  std::vector<std::string> refused;
};
[[nodiscard]] Result<DecodedPush> DecodePushRequest(std::string_view body, bool json,
                                                    std::int64_t now_ns);

}  // namespace wherefore::gateway
