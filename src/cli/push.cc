// `push`: sends files to a server, waits until they can be queried, and prints the next command.
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/replay.h"
#include "cli/source.h"
#include "formats/formats.h"
#include "formats/pyroscope/upload.h"
#include "formats/recognise.h"
#include "formats/registry.h"
#include "net/http_client.h"
#include "profile/type_id.h"

namespace wherefore::cli {
namespace {

struct PushOptions {
  std::vector<std::string> files;
  std::string service;
  bool now = false;
  bool replay = false;
  std::string ago;  // that a replay ends; empty: now
};

// Totals over all files sent.
struct PushTotals {
  std::size_t profiles = 0;
  std::size_t spans = 0;
  std::size_t samples = 0;
  std::int64_t from_ns = INT64_MAX;
  std::int64_t to_ns = 0;
  std::map<std::string, std::set<std::string>> types_of;  // service -> short names
  std::string trace;
};

void Span(PushTotals& totals, std::uint64_t start, std::uint64_t end) {
  totals.from_ns = std::min(totals.from_ns, static_cast<std::int64_t>(start));
  totals.to_ns = std::max(totals.to_ns, static_cast<std::int64_t>(end));
}

void Note(PushTotals& totals, const profile::Batch& batch) {
  for (const profile::Profile& p : batch.profiles) {
    ++totals.profiles;
    totals.samples += p.sample_count;
    const std::uint64_t start =
        p.time_ns != 0 ? p.time_ns : static_cast<std::uint64_t>(NowUnixNs());
    Span(totals, start, start + p.duration_ns);
    const profile::ProfileType type = profile::TypeOf(batch, p);
    const std::string service(profile::ServiceName(batch, batch.resources[p.resource]));
    totals.types_of[service].insert(type.stands_for_cpu ? "cpu" : profile::ShortName(type));
  }
}

void Note(PushTotals& totals, const profile::SpanBatch& batch) {
  for (const profile::Span& s : batch.spans) {
    ++totals.spans;
    Span(totals, s.start_ns, s.end_ns);
    totals.trace = ToHex(s.trace);
  }
}

// Sends an OTLP body; a partial success becomes a warning.
Result<> Send(const Context& context, const std::string& path, const std::string& body,
              const std::string& file) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer,
                             Ask(context, "POST", path, {}, body, "application/x-protobuf"));
  if (!answer.empty()) {
    // The message is the only text in an ExportProfilesServiceResponse.
    fmt::print(stderr, "warning: {}: the server kept only a part: {}\n", file,
               answer.substr(answer.find_first_of("abcdefghijklmnopqrstuvwxyz")));
  }
  return {};
}

// A profile served by a program may be cumulative. It is sent as the original file, so that the
// server takes the difference to the previous one.
Result<> PushPprof(const Context& context, const profile::Batch& batch, const std::string& bytes) {
  const profile::Profile& p = batch.profiles.at(0);
  const formats::TextLabels labels = {
      {"service_name", std::string(profile::ServiceName(batch, batch.resources[p.resource]))},
      {"__name__", profile::TypeOf(batch, p).name}};
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer,
                             Ask(context, "POST", "/push.v1.PusherService/Push", {},
                                 formats::EncodePush(labels, bytes), "application/proto"));
  return {};
}

// One file, decoded.
struct Content {
  std::string file;
  std::shared_ptr<const std::string> bytes;
  std::variant<profile::Batch, profile::SpanBatch> data;
};

Result<Content> ReadContent(const PushOptions& options, const std::string& file) {
  WHEREFORE_ASSIGN_OR_RETURN(std::string read, ReadProfileFile(file));
  Content content;
  content.file = file;
  content.bytes = std::make_shared<const std::string>(std::move(read));
  WHEREFORE_ASSIGN_OR_RETURN(formats::FileContent decoded,
                             DecodeContent(content.bytes, file, options.service));
  if (auto* const spans = std::get_if<formats::DecodedSpans>(&decoded)) {
    content.data = std::move(spans->data);
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(content.data, BatchOf(std::move(decoded), file));
  }
  return content;
}

Result<> SendContent(const Context& context, const PushOptions& options, Content& content,
                     PushTotals& totals) {
  if (const auto* spans = std::get_if<profile::SpanBatch>(&content.data)) {
    Note(totals, *spans);
    return Send(context, "/v1/traces", formats::EncodeOtlpTraces(*spans), content.file);
  }
  profile::Batch& batch = std::get<profile::Batch>(content.data);
  // A file without a time gets the current time; --now moves every profile separately to end now.
  const auto now = static_cast<std::uint64_t>(NowUnixNs());
  for (profile::Profile& p : batch.profiles) {
    if (p.time_ns == 0 || options.now) p.time_ns = now - std::min(p.duration_ns, now);
  }
  Note(totals, batch);
  if (IsUrl(content.file) && formats::IsPprof(*content.bytes))
    return PushPprof(context, batch, *content.bytes);
  return Send(context, "/v1development/profiles", formats::EncodeOtlpProfiles(batch), content.file);
}

// Reads and sends file by file. A replay must read all of them before it sends the first.
int PushFiles(const Context& context, const PushOptions& options, PushTotals& totals,
              std::size_t& sent) {
  std::int64_t ago_ns = 0;
  if (!options.ago.empty()) {
    auto ago = ParseDuration(options.ago);
    if (!ago) return Fail(std::move(ago).error().Within("--ago"));
    ago_ns = *ago;
  }
  int code = kFine;
  const bool progress = isatty(STDERR_FILENO) != 0 && options.files.size() > 5;
  const auto count = [&](const Result<>& result) {
    if (!result) {
      code = Fail(result.error());
    } else {
      ++sent;
    }
    if (progress) fmt::print(stderr, "\r{}/{} files", sent, options.files.size());
  };
  Replay replay;
  std::vector<Content> recording;
  for (const std::string& file : options.files) {
    Result<Content> content = ReadContent(options, file);
    if (!content) {
      count(std::move(content).error());
    } else if (options.replay) {
      std::visit([&](const auto& data) { replay.Include(data); }, content->data);
      recording.push_back(*std::move(content));
    } else {
      count(SendContent(context, options, *content, totals));
    }
  }
  const auto end = static_cast<std::uint64_t>(NowUnixNs() - ago_ns);
  for (Content& content : recording) {
    std::visit([&](auto& data) { replay.Move(data, end); }, content.data);
    count(SendContent(context, options, content, totals));
  }
  if (progress) fmt::print(stderr, "\r{:30}\r", "");
  return code;
}

void PrintTotals(const Context& context, const PushTotals& totals, std::size_t files) {
  if (context.json) {
    fmt::print(
        "{{\"files\":{},\"profiles\":{},\"samples\":{},\"spans\":{},\"from\":\"{}\",\"to\":\"{}\"}}"
        "\n",
        files, totals.profiles, totals.samples, totals.spans, FormatTime(totals.from_ns),
        FormatTime(totals.to_ns));
    return;
  }
  fmt::print("{} file{}: {} profiles with {} samples, {} spans, from {} to {}\n", files,
             files == 1 ? "" : "s", FormatCount(static_cast<std::int64_t>(totals.profiles)),
             FormatCount(static_cast<std::int64_t>(totals.samples)),
             FormatCount(static_cast<std::int64_t>(totals.spans)), FormatTime(totals.from_ns),
             FormatTime(totals.to_ns));
  const std::int64_t age_hours = (NowUnixNs() - totals.from_ns) / (3600 * kNsPerSecond) + 1;
  const std::string since = age_hours <= 1    ? "1h"
                            : age_hours <= 48 ? fmt::format("{}h", age_hours)
                                              : fmt::format("{}d", age_hours / 24 + 1);
  const std::string server =
      context.server == Context().server ? "" : " --server " + context.server;
  for (const auto& [service, types] : totals.types_of) {
    fmt::print("  {}: {}\n", service, fmt::join(types, ", "));
    const std::string type = types.contains("cpu") ? "cpu" : *types.begin();
    fmt::print("    wherefore top --service {} --type {} --since {}{}\n", service, type, since,
               server);
    fmt::print("    {}/s/{}?type={}&since={}\n", context.server, net::PercentEncode(service),
               net::PercentEncode(type),
               age_hours <= 1     ? "1h"
               : age_hours <= 24  ? "1d"
               : age_hours <= 168 ? "7d"
                                  : "3000d");
  }
  if (!totals.trace.empty()) fmt::print("    wherefore trace {}{}\n", totals.trace, server);
}

}  // namespace

void AddPush(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "push",
      fmt::format("Send profile or trace files, what comes on standard input, or a URL; recognised "
                  "by content: {}",
                  formats::FormatNames()),
      {"wherefore push cpu.pb.gz --service checkout", "wherefore push *.otlp",
       "wherefore push 'http://localhost:6060/debug/pprof/profile?seconds=30' --service shop",
       "perf script | wherefore push --service app"});
  auto options = std::make_shared<PushOptions>();
  command->add_option("files", options->files,
                      "Files, addresses of pprof endpoints, or - (default) for standard input");
  command->add_option(
      "--service", options->service,
      "Service name for files that do not say (default: the file's name, the address)");
  CLI::Option* now = command->add_flag("--now", options->now, "Store as if recorded just now");
  CLI::Option* replay =
      command
          ->add_flag("--replay", options->replay,
                     "Move all files together in time so that the last ends now, with new ids")
          ->excludes(now);
  command->add_option("--ago", options->ago, "Replay so that the last ends that long ago (20m)")
      ->needs(replay);
  command->callback([&context, options] {
    context.run = [&context, options]() -> int {
      if (options->files.empty() && isatty(STDIN_FILENO) != 0)
        return Fail(Error(Code::kInvalid, "no files: name some, or pipe one in"));
      if (options->files.empty()) options->files.emplace_back(kStandardInput);
      PushTotals totals;
      std::size_t sent = 0;
      const int code = PushFiles(context, *options, totals, sent);
      if (sent == 0) return code;
      if (const auto flushed = Ask(context, "POST", "/api/v1/flush", {}); !flushed)
        return Fail(flushed.error());
      PrintTotals(context, totals, sent);
      return code;
    };
  });
}

}  // namespace wherefore::cli
