#include "recode.h"

#include <memory>

#include <fmt/format.h>

#include "base/gzip.h"
#include "formats/formats.h"
#include "formats/jfr/testing.h"
#include "net/url.h"

namespace wherefore::bench {
namespace {

using formats::testing::JfrWriter;

profile::Batch Decode(const std::string& otlp) {
  auto decoded = formats::DecodeOtlpProfiles(std::make_shared<const std::string>(otlp));
  return std::move(decoded->data);
}

// "/ingest?..." for the only profile of the batch, with its resource as labels.
std::string IngestPath(const profile::Batch& batch, std::string_view format) {
  const profile::Profile& p = batch.profiles.at(0);
  const profile::Resource& resource = batch.resources[p.resource];
  std::string labels;
  for (const profile::Attribute& a : batch.OwnAttributes(resource.attributes)) {
    const std::string_view key = batch.Text(a.key);
    if (key == "service.name") continue;
    labels += fmt::format("{}{}={}", labels.empty() ? "" : ",", key, ValueText(batch, a.value));
  }
  const std::string name = fmt::format("{}{{{}}}", profile::ServiceName(batch, resource), labels);
  return fmt::format("/ingest?name={}&from={}&until={}&spyName=bench&sampleRate=100&format={}",
                     net::PercentEncode(name), p.time_ns, p.time_ns + p.duration_ns, format);
}

}  // namespace

Recoded AsPprof(const std::string& otlp) {
  const profile::Batch batch = Decode(otlp);
  return {IngestPath(batch, "pprof"), Gzip(*formats::EncodePprof(batch), 1)};
}

Recoded AsJfr(const std::string& otlp) {
  const profile::Batch batch = Decode(otlp);
  constexpr int kExecution = 100;
  JfrWriter w;
  w.Define(kExecution, "jdk.ExecutionSample",
           {{"startTime", JfrWriter::kLong},
            {"sampledThread", JfrWriter::kThread, true},
            {"stackTrace", JfrWriter::kStackTrace, true},
            {"state", JfrWriter::kThreadState, true},
            {"spanId", JfrWriter::kLong}});
  w.Constant(JfrWriter::kThreadState, 1, w.Bytes().Text("STATE_DEFAULT"));
  w.Constant(JfrWriter::kFrameType, 1, w.Bytes().Text("JIT compiled"));
  w.Constant(JfrWriter::kThread, 1, w.Bytes().Text("main").Long(1).Text("main"));
  for (std::size_t f = 1; f < batch.functions.size(); ++f) {
    w.Method(static_cast<std::int64_t>(f), "shop/Service", batch.Text(batch.functions[f].name));
  }
  for (profile::Id stack = 1; stack < batch.stacks.size(); ++stack) {
    std::vector<std::pair<std::int64_t, int>> frames;
    for (const profile::Id frame : batch.StackFrames(stack)) {
      for (const profile::Line& line : batch.FrameLines(batch.frames[frame])) {
        frames.emplace_back(line.function, static_cast<int>(line.line));
      }
    }
    w.Stack(stack, frames);
  }
  std::int64_t ticks = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    std::int64_t span = 0;
    for (const std::uint8_t byte : batch.links[batch.samples.link[i]].span) {
      span = static_cast<std::int64_t>(static_cast<std::uint64_t>(span) << 8 | byte);
    }
    for (std::int64_t n = 0; n < batch.samples.value[i]; ++n) {
      w.Event(kExecution, w.Bytes()
                              .Long(ticks += 10'000'000)
                              .Long(1)
                              .Long(batch.samples.stack[i])
                              .Long(1)
                              .Long(span));
    }
  }
  return {IngestPath(batch, "jfr"), Gzip(w.Finish(), 1)};
}

}  // namespace wherefore::bench
