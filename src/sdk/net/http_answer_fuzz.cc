// Any bytes as a server's answer, in pieces whose size the first byte decides and at once: no
// crash, the same result both ways, never a body over the limit.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/net/http_client.h"

namespace {

using wherefore::sdk::AnswerReader;

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  bool complete = false;
  bool failed = false;
  int status = 0;
  std::string body;
};

Outcome Read(std::string_view bytes, std::size_t piece) {
  AnswerReader reader;
  Outcome outcome;
  const auto take = [&](const wherefore::Result<bool>& complete) {
    outcome.failed = !complete;
    outcome.complete = complete && *complete;
    if (!complete) Require(!complete.error().message().empty());
  };
  while (!bytes.empty() && !outcome.failed && !outcome.complete) {
    take(reader.Add(bytes.substr(0, piece)));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!outcome.failed && !outcome.complete) take(reader.End());
  Require(reader.answer().body.size() <= (4U << 20));
  if (outcome.complete) {
    Require(reader.answer().status >= 100 && reader.answer().status <= 999);
    static_cast<void>(reader.answer().Header("retry-after"));
    outcome.status = reader.answer().status;
    outcome.body = reader.answer().body;
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome pieces = Read(bytes, std::size_t{data[0]} + 1);
  const Outcome whole = Read(bytes, std::max<std::size_t>(bytes.size(), 1));
  // What stands behind a complete answer is refused at once and not looked at in pieces.
  if (pieces.complete && whole.complete)
    Require(pieces.status == whole.status && pieces.body == whole.body);
  return 0;
}
