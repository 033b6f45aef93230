// Shared by the tests of this module: random messages built with the protobuf library, and files.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>

#include <google/protobuf/util/message_differencer.h>

#include "base/test_source.h"
#include "opentelemetry/proto/profiles/v1development/profiles.pb.h"
#include "opentelemetry/proto/trace/v1/trace.pb.h"

namespace wherefore::formats::testing {

namespace otlp = opentelemetry::proto::profiles::v1development;
namespace common = opentelemetry::proto::common::v1;
namespace trace = opentelemetry::proto::trace::v1;

inline std::shared_ptr<const std::string> Shared(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

inline std::string ReadFile(const std::string& path_in_repository) {
  std::ifstream in(TestSource(path_in_repository), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Mostly small random numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int Below(int limit) {
    return limit <= 0 ? 0 : static_cast<int>(engine_() % static_cast<std::uint64_t>(limit));
  }
  bool OneIn(int n) { return Below(n) == 0; }
  std::uint64_t Bits() { return engine_() >> Below(64); }
  std::int64_t Number() { return static_cast<std::int64_t>(Bits()) * (OneIn(4) ? -1 : 1); }
  std::string Bytes(int size);
  std::string Text();

 private:
  std::mt19937_64 engine_;
};

// A value of any kind; `refs` > 0 allows references to that many strings.
void FillValue(Random& random, int depth, int refs, common::AnyValue* out);
void FillAttributes(Random& random, int refs,
                    google::protobuf::RepeatedPtrField<common::KeyValue>* out);

// A conforming message; with `refs` resources and values use string references.
otlp::ProfilesData RandomProfiles(std::uint64_t seed, bool refs);
trace::TracesData RandomTraces(std::uint64_t seed);
// Replaces every string reference by its string, so that both forms compare equal.
void ResolveReferences(otlp::ProfilesData& data);
// Removes strings that nothing refers to, as our encoder does.
otlp::ProfilesData WithoutUnusedStrings(otlp::ProfilesData data);

template <typename Message>
std::string Differences(const Message& expected, const Message& actual) {
  google::protobuf::util::MessageDifferencer differ;
  std::string report;
  differ.ReportDifferencesToString(&report);
  return differ.Compare(expected, actual) ? std::string() : report;
}

}  // namespace wherefore::formats::testing
