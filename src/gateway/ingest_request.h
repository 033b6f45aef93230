// Reads the parameters of an HTTP request to /ingest. Pure; any thread. For its body see
// formats/pyroscope/ingest.h.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/pyroscope/ingest.h"
#include "net/http.h"

namespace wherefore::gateway {

// kInvalid, with the parameter's name.
[[nodiscard]] Result<formats::IngestUpload> ReadIngest(const net::HttpRequest& request,
                                                       std::int64_t now_ns);

}  // namespace wherefore::gateway
