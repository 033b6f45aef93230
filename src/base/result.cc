#include "base/result.h"

namespace wherefore {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kNotFound:
      return "not_found";
    case Code::kIo:
      return "io";
    case Code::kLimit:
      return "limit";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace wherefore
