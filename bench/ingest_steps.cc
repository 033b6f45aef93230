// bench_ingest_steps: what one request of the load costs before it is logged, step by step, on one
// thread and without a server: decoding, hashing, encoding as rows. Prints microseconds of CPU time
// a profile, once the names are known (the second half of the requests).
//
// For changes of a few percent, which the noise of a whole server hides. callgrind counts its
// instructions.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "formats/formats.h"
#include "load.h"
#include "store/memory/memory_store.h"

namespace wherefore::bench {
namespace {

struct Steps {
  std::int64_t decode_ns = 0;
  std::int64_t hash_ns = 0;
  std::int64_t encode_ns = 0;
  std::int64_t profiles = 0;
};

class Ingest {
 public:
  // One request through all steps; false: it was refused, which is a mistake of this program.
  [[nodiscard]] bool Run(std::string body, Steps& steps) {
    auto shared = std::make_shared<const std::string>(std::move(body));
    const std::int64_t begin = ProcessCpuNs();
    auto decoded = formats::DecodeOtlpProfiles(shared);
    const std::int64_t decoded_at = ProcessCpuNs();
    if (!decoded) return false;
    store::ContentHashes hashes;
    hashes.Compute(decoded->data);
    const std::int64_t hashed_at = ProcessCpuNs();
    profile::WriteRequest request;
    request.data = std::move(decoded->data);
    rows_.Clear();
    dictionaries_.NextRound();
    const auto answer = encoder_.Encode(request, hashes, NowUnixNs(), 1, rows_);
    const std::int64_t end = ProcessCpuNs();
    steps.decode_ns += decoded_at - begin;
    steps.hash_ns += hashed_at - decoded_at;
    steps.encode_ns += end - hashed_at;
    ++steps.profiles;
    return answer && answer->rejected == 0;
  }

 private:
  store::memory::NothingStored nothing_;
  const std::atomic<std::uint32_t> writer_{1};
  store::Dictionaries dictionaries_{nothing_, 1, writer_};
  store::Encoder encoder_{dictionaries_, {}};
  store::RowSet rows_;
};

int Main(int argc, char** argv) {
  Shape shape;
  std::int64_t requests = 8000;
  CLI::App app("What a request costs before it is logged, step by step");
  app.add_option("--requests", requests)->capture_default_str();
  app.add_option("--services", shape.services)->capture_default_str();
  app.add_option("--stacks", shape.stacks)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Load load(shape);
  RequestWriter writer(load);
  Ingest ingest;
  Content content;
  Steps first;
  Steps steps;
  for (std::int64_t i = 0; i < requests; ++i) {
    std::string body;
    const auto place = static_cast<int>(i % (shape.services * shape.instances));
    writer.Write(place % shape.services, place / shape.services, i, NowUnixNs() - 10 * kNsPerSecond,
                 body, content);
    if (!ingest.Run(std::move(body), i < requests / 2 ? first : steps)) {
      fmt::print(stderr, "request {} was refused\n", i);
      return 1;
    }
  }
  for (const auto& [name, s] : {std::pair{"first half", &first}, {"second half", &steps}}) {
    const auto each = [&](std::int64_t ns) {
      return static_cast<double>(ns) / 1e3 /
             static_cast<double>(std::max<std::int64_t>(s->profiles, 1));
    };
    fmt::print("{:12} decode {:6.1f} us, hash {:6.1f} us, encode {:6.1f} us\n", name,
               each(s->decode_ns), each(s->hash_ns), each(s->encode_ns));
  }
  return 0;
}

}  // namespace
}  // namespace wherefore::bench

int main(int argc, char** argv) {
  return wherefore::bench::Main(argc, argv);
}
