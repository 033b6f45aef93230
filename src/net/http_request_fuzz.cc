// Any bytes as a stream of requests, fed in pieces whose size the first byte decides: no crash,
// always progress, never a body over the limit.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http_guard.h"
#include "net/http_request_reader.h"

namespace {

using wherefore::net::RequestReader;

constexpr std::size_t kMaxBody = 4096;

// What a connection does with a complete request.
void Finish(RequestReader& reader) {
  if (reader.FinishBody()) return;
  const wherefore::net::HttpRequest& request = reader.request();
  if (request.body->size() > kMaxBody) std::abort();
  static_cast<void>(request.QueryParameters());
  static_cast<void>(request.ContentType());
  static_cast<void>(wherefore::net::CheckOrigin(request, true, {}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string buffer;
  RequestReader reader(kMaxBody);
  bool hungry = true;
  while (true) {
    if (hungry) {
      if (rest.empty()) return 0;
      buffer += rest.substr(0, piece);
      rest.remove_prefix(std::min(piece, rest.size()));
    }
    std::size_t used = 0;
    const auto step = reader.Feed(buffer, used);
    buffer.erase(0, used);
    if (step == RequestReader::Step::kRefused) {
      if (reader.refusal().status < 400 || reader.refusal().error.message().empty()) std::abort();
      return 0;
    }
    if (reader.body_bytes() > kMaxBody) std::abort();
    if (step == RequestReader::Step::kBody && used == 0) std::abort();
    hungry = step == RequestReader::Step::kNeedMore || (buffer.empty() && !reader.done());
    if (step != RequestReader::Step::kDone) continue;
    Finish(reader);
    reader.Begin("peer");
    hungry = buffer.empty();
  }
}
