// Messages of Pyroscope's ad hoc profile service, plain structs <-> bytes, protobuf or JSON. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wherefore::formats {

// Requests of Upload, Get and Diff; fields a method does not have stay empty.
struct AdHocRequest {
  std::string name;
  std::string profile;  // bytes of a file (base64 on the wire)
  std::string id;       // the left one of a diff
  std::string right_id;
  std::string profile_type;
  std::int64_t max_nodes = 0;
};
enum class AdHocMethod : std::uint8_t { kUpload, kGet, kList, kDiff };
[[nodiscard]] Result<AdHocRequest> DecodeAdHocRequest(AdHocMethod method, std::string_view body,
                                                      bool json);

struct AdHocProfile {
  std::string id;
  std::string name;
  std::int64_t uploaded_ms = 0;
  std::string profile_type;
  std::vector<std::string> profile_types;
  std::string flamebearer;  // JSON text
};
[[nodiscard]] std::string EncodeAdHocProfile(const AdHocProfile& profile, bool json);
[[nodiscard]] std::string EncodeAdHocList(const std::vector<AdHocProfile>& profiles, bool json);
[[nodiscard]] std::string EncodeAdHocDiff(const std::vector<std::string>& types,
                                          std::string_view flamebearer, bool json);

}  // namespace wherefore::formats
