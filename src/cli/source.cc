#include "cli/source.h"

#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/json.h"
#include "formats/formats.h"
#include "formats/trees/flame_binary.h"
#include "net/compression.h"
#include "net/http_client.h"
#include "profile/batch_tree.h"
#include "profile/type_id.h"
#include "query/lens.h"

namespace wherefore::cli {
namespace {

// The message of {"error":{...}}, or of OTLP's Status, or the body itself.
std::string ErrorMessage(const net::ClientResponse& response) {
  const std::string& body = response.body;
  const auto type = response.headers.find("Content-Type");
  if (type != response.headers.end() && type->second.starts_with("application/x-protobuf"))
    return formats::DecodeRpcStatus(false, body).message;
  simdjson::dom::parser parser;
  std::string_view message;
  if (parser.parse(body)["error"]["message"].get(message) == simdjson::SUCCESS)
    return std::string(message);
  return body.substr(0, 300);
}

Code CodeOf(int status) {
  if (status == 400 || status == 405) return Code::kInvalid;
  if (status == 404) return Code::kNotFound;
  if (status == 429 || status == 413) return Code::kLimit;
  return status == 503 ? Code::kUnavailable : Code::kInternal;
}

constexpr std::string_view kOverflow =
    "overflow: the values add up to more than 64 bits hold; totals and shares are not right";

struct Meta {
  std::string type;
  std::string unit;
  std::string hint;
  std::int64_t scale = 1;
  std::int64_t observed_ms = 0;
  bool overflow = false;
  bool averaged = false;
  bool inverted = false;
};

Result<Meta> ReadMeta(const std::string& json) {
  Meta meta;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(json).get(root) != simdjson::SUCCESS) return DamagedAnswer();
  const auto text = [&](const char* key, std::string& out) {
    std::string_view value;
    if (root[key].get(value) == simdjson::SUCCESS) out = value;
  };
  text("type", meta.type);
  text("unit", meta.unit);
  text("hint", meta.hint);
  [[maybe_unused]] auto ignored = root["scale"].get(meta.scale);
  ignored = root["averaged"].get(meta.averaged);
  ignored = root["observed_ms"].get(meta.observed_ms);
  ignored = root["overflow"].get(meta.overflow);
  ignored = root["inverted"].get(meta.inverted);
  return meta;
}

Result<formats::FileContent> LoadContent(const std::string& file, const std::string& service) {
  WHEREFORE_ASSIGN_OR_RETURN(std::string bytes, ReadProfileFile(file));
  return DecodeContent(std::make_shared<const std::string>(std::move(bytes)), file, service);
}

// Merges several trees. Averages and plain sums differ in scale.
profile::FlameTree AddedUp(const std::vector<profile::FlameTree>& trees) {
  std::int64_t scale = 1;
  for (const profile::FlameTree& tree : trees) scale = std::max(scale, tree.scale);
  profile::TreeBuilder all;
  for (const profile::FlameTree& own : trees) {
    const profile::FlameTree tree = profile::Rescaled(own, scale);
    std::vector<std::uint32_t> path;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      path.resize(tree.depth[i]);
      const std::uint32_t node =
          i == 0 ? 0 : all.Child(path.back(), all.AddFunction(tree.functions[tree.function[i]]));
      all.AddValue(node, tree.self[i], tree.self_count[i]);
      path.push_back(node);
    }
  }
  profile::FlameTree out = all.Build();
  out.scale = scale;
  return out;
}

Result<SourceTree> TreeOfFiles(const SelectionOptions& options) {
  std::vector<profile::FlameTree> trees;
  std::string type = options.type;
  std::string unit;
  std::string hint;
  std::set<std::string> ids;
  double seconds = 0;
  bool snapshot = false;
  bool known = true;
  for (const std::string& file : options.what) {
    WHEREFORE_ASSIGN_OR_RETURN(formats::FileContent content, LoadContent(file, options.service));
    if (auto* const picture = std::get_if<profile::FlameTree>(&content)) {
      // A saved graph has one type, whatever its name, and no observations.
      if (type.empty()) type = picture->type.empty() ? "samples" : picture->type;
      unit = picture->unit;
      known = false;
      trees.push_back(std::move(*picture));
      continue;
    }
    WHEREFORE_ASSIGN_OR_RETURN(const profile::Batch batch, BatchOf(std::move(content), file));
    if (type.empty()) type = DefaultFileType(batch);
    WHEREFORE_RETURN_IF_ERROR(RequireOneType(batch, type, ids));
    profile::BatchTreeResult result = profile::BuildBatchTree(batch, type);
    if (result.profiles == 0) {
      std::vector<std::string> names;
      for (const auto& t : profile::BatchTypes(batch)) names.push_back(profile::ShortName(t));
      hint = fmt::format("{} has no profile of type '{}'; it has: {}", file, type,
                         fmt::join(names, ", "));
      continue;
    }
    if (result.tree.size() <= 1)
      hint = fmt::format("{} has nothing of type '{}' in it", file, type);
    unit = result.tree.unit;
    // Several files may cover the same time.
    seconds = std::max(seconds, static_cast<double>(result.observed_ns) / kNsPerSecond);
    snapshot = snapshot || result.snapshot;
    known = known && result.observations_known;
    trees.push_back(std::move(result.tree));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const query::Lens lens, query::Lens::Parse(options.lens));
  SourceTree out{.tree = AddedUp(trees), .hint = hint, .averaged = snapshot, .seconds = seconds};
  out.tree.type = type;
  out.tree.unit = unit;
  if (IsSaturated(out.tree.total[0])) out.hint = kOverflow;
  if (!known) {  // no counts rather than wrong errors for every share
    std::ranges::fill(out.tree.self_count, 0);
    std::ranges::fill(out.tree.total_count, 0);
  }
  if (!lens.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(out.tree, lens.Apply(out.tree, CancelToken()));
  }
  return out;
}

}  // namespace

std::string DefaultFileType(const profile::Batch& batch) {
  const auto types = profile::BatchTypes(batch);
  for (const std::string_view wanted : {"cpu", "wall"}) {
    for (const auto& t : types) {
      if (profile::MatchType(t, wanted)) return std::string(wanted);
    }
  }
  // Like pprof: the last type is the default.
  return types.empty() ? "cpu" : profile::ShortName(types.back());
}

Result<> RequireOneType(const profile::Batch& batch, std::string_view type,
                        std::set<std::string>& ids) {
  const auto& fixed = profile::ShortNames();
  if (type.find(':') != std::string_view::npos || std::ranges::find(fixed, type) != fixed.end())
    return {};
  for (const profile::ProfileType& t : profile::BatchTypes(batch)) {
    if (profile::MatchType(t, type)) ids.insert(t.Id());
  }
  if (ids.size() < 2) return {};
  return Error(Code::kInvalid, fmt::format("--type {} is the short name of {} types; name one: {}",
                                           type, ids.size(), fmt::join(ids, ", ")));
}

void SelectionOptions::AddTo(CLI::App& command, const std::string& positional_help) {
  command.add_option("what", what, positional_help);
  command.add_option("--service", service, "Service (same as the name before { in a selector)");
  command.add_option("--type", type,
                     "cpu, wall, samples, alloc_space, inuse_space, mutex, ... or a five-part id");
  command.add_option("--since,--time-range", since, "How far back: 15m, 6h, 7d (default 1h)");
  command.add_option("--from", from, "Start: 2026-11-15T06:00:00Z, Unix time, -2h");
  command.add_option("--to", to, "End, like --from (default now)");
  command.add_option("--lens", lens,
                     "focus:RE, hide:RE, merge:RE, collapse:RE, drop:RE, recursion:RE, "
                     "focus-path:A;B;C, merge-path:A;B;C, own, my-code, merge-templates, "
                     "invert; "
                     "joined by ' > '");
  command.add_flag(
      "--own{default}", own,
      "Only the program's own code: what libraries, runtime and kernel did is charged to "
      "the nearest own function. --own='+re -re' has rules of your own first");
  command.parse_complete_callback([this] {
    if (own.empty()) return;
    const auto whole = query::Lens::ParseWithOwn(lens, own);
    if (!whole) throw CLI::ValidationError("--own", whole.error().message());
    lens = whole->Text();
  });
}

bool IsUrl(std::string_view name) {
  return name.starts_with("http://") || name.starts_with("https://");
}

namespace {

// A profile served over HTTP. "?seconds=30" answers only after that time, so wait longer.
Result<std::string> Download(const std::string& url) {
  constexpr int kPatience = 60;
  net::ClientOptions options;
  options.timeout_seconds = kPatience;
  if (const std::size_t at = url.find("seconds="); at != std::string::npos) {
    const std::string text = url.substr(at + 8, url.find('&', at) - at - 8);
    constexpr std::int64_t kLongest = 86'400;
    const std::int64_t seconds = ParseInt(text).value_or(0);
    if (seconds > 0 && seconds <= kLongest) {
      options.timeout_seconds += static_cast<int>(seconds);
      if (isatty(STDERR_FILENO) != 0) {
        fmt::print(stderr, "waiting {} s for {}\n", seconds, url);
      }
    }
  }
  WHEREFORE_ASSIGN_OR_RETURN(net::ClientResponse response, net::Fetch("GET", url, {}, {}, options));
  if (response.status != 200) {
    return Error(CodeOf(response.status), fmt::format("{} answered {}: {}", url, response.status,
                                                      response.body.substr(0, 300)));
  }
  return std::move(response.body);
}

Result<std::string> ReadStandardInput() {
  std::string content{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (std::cin.bad()) return Error(Code::kIo, "standard input cannot be read");
  return content;
}

}  // namespace

std::string DefaultService(const std::string& file) {
  if (IsUrl(file)) {
    if (const auto url = net::ParseUrl(file)) return url->authority;
  }
  if (file == kStandardInput) return "stdin";
  return std::filesystem::path(file).filename().string();
}

Result<std::string> ReadProfileFile(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  WHEREFORE_ASSIGN_OR_RETURN(std::string content, path == kStandardInput ? ReadStandardInput()
                                                  : IsUrl(path)          ? Download(path)
                                                                         : ReadFile(path));
  if (!content.starts_with("\x1f\x8b")) return content;
  auto plain = net::Decompress("gzip", content, kMostBytes);
  if (!plain) return std::move(plain).error().Within(path);
  return plain;
}

bool SelectionOptions::IsFiles() const {
  if (what.empty()) return false;
  return std::all_of(what.begin(), what.end(), [](const std::string& name) {
    if (IsUrl(name) || name == kStandardInput) return true;
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error)) return false;
    // A program with the same name as its service may be in the current folder; that is not a
    // profile.
    if (name.find_first_of("./") != std::string::npos) return true;
    const auto content = ReadProfileFile(name);
    return content && formats::Recognise(*content) != nullptr;
  });
}

Result<> SelectionOptions::Validate(std::size_t most) const {
  if (what.size() > most && !IsFiles()) {
    return Error(Code::kInvalid,
                 fmt::format("'{}': expected one selector, or files that exist", what.back()));
  }
  if (!service.empty() && !IsFiles()) {
    for (const std::string& text : what) {
      if (!text.starts_with('{')) {
        return Error(
            Code::kInvalid,
            fmt::format("--service {} and '{}' both name a service; with --service the selector is "
                        "only {{label=value}}",
                        service, text));
      }
    }
  }
  return {};
}

std::string SelectionOptions::SelectorText() const {
  if (service.empty()) return what.empty() ? "" : what[0];
  // Quoted, because a name may contain any character.
  std::string text = "{service_name=\"";
  for (const char c : service) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  text += '"';
  const std::string_view rest =
      what.empty() ? std::string_view() : std::string_view(what[0]).substr(1);
  if (!rest.empty() && rest != "}") return text + ", " + std::string(rest);
  return text + "}";
}

std::vector<std::pair<std::string, std::string>> SelectionOptions::Parameters() const {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, value);
  };
  add("query", SelectorText());
  add("type", type);
  add("since", since);
  add("from", from);
  add("to", to);
  return out;
}

Result<Answer> AskFully(const Context& context, std::string_view method, const std::string& path,
                        const std::vector<std::pair<std::string, std::string>>& parameters,
                        std::string_view body, std::string_view content_type,
                        const CancelToken& cancel) {
  std::string url = context.server + path;
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    url += fmt::format("{}{}={}", separator, net::PercentEncode(name), net::PercentEncode(value));
    separator = '&';
  }
  net::ClientOptions options{.timeout_seconds = 300, .cancel = cancel};
  if (!context.token.empty()) options.headers["Authorization"] = "Bearer " + context.token;
  Result<net::ClientResponse> response = net::Fetch(method, url, body, content_type, options);
  if (!response) {
    const std::string& message = response.error().message();
    const bool refused = message.find("refused") != std::string::npos;
    return Error(response.error().code(),
                 message + (refused ? "; is `wherefore serve` running there?" : ""));
  }
  if (response->status >= 400) {
    return Error(CodeOf(response->status),
                 fmt::format("{} (HTTP {})", ErrorMessage(*response), response->status));
  }
  Answer answer{.body = std::move(response->body), .incomplete = {}};
  if (const auto lacks = response->headers.find("Wherefore-Incomplete");
      lacks != response->headers.end())
    answer.incomplete = lacks->second;
  return answer;
}

Result<std::string> Ask(const Context& context, std::string_view method, const std::string& path,
                        const std::vector<std::pair<std::string, std::string>>& parameters,
                        std::string_view body, std::string_view content_type) {
  WHEREFORE_ASSIGN_OR_RETURN(Answer answer,
                             AskFully(context, method, path, parameters, body, content_type, {}));
  if (!answer.incomplete.empty())
    fmt::print(stderr, "warning: {}; see `wherefore doctor`\n", answer.incomplete);
  return std::move(answer.body);
}

Result<SourceTree> LoadTree(const Context& context, const SelectionOptions& options) {
  WHEREFORE_RETURN_IF_ERROR(options.Validate(1));
  if (options.IsFiles()) return TreeOfFiles(options);
  auto parameters = options.Parameters();
  if (!options.lens.empty()) parameters.emplace_back("lens", options.lens);
  if (options.observed) parameters.emplace_back("observed", "true");
  WHEREFORE_ASSIGN_OR_RETURN(SourceTree out,
                             AskTree(context, "/api/v1/flame", std::move(parameters)));
  return out;
}

Result<SourceTree> LoadWithLens(const Context& context, const SelectionOptions& options) {
  auto source = LoadTree(context, options);
  if (source && source->hint.empty() && !options.lens.empty() && source->tree.size() <= 1) {
    source->hint = fmt::format("the lens '{}' removes everything", options.lens);
  }
  return source;
}

Result<SourceTree> AskTree(const Context& context, const std::string& path,
                           std::vector<std::pair<std::string, std::string>> parameters) {
  parameters.emplace_back("max_nodes", "0");
  parameters.emplace_back("format", "binary");
  WHEREFORE_ASSIGN_OR_RETURN(const std::string body, Ask(context, "GET", path, parameters));
  WHEREFORE_ASSIGN_OR_RETURN(formats::DecodedFlame decoded, formats::DecodeFlameBinary(body));
  WHEREFORE_ASSIGN_OR_RETURN(const Meta meta, ReadMeta(decoded.meta));
  SourceTree out{.tree = std::move(decoded.tree),
                 .hint = meta.hint,
                 .averaged = meta.averaged,
                 .seconds = static_cast<double>(meta.observed_ms) / 1000};
  out.tree.type = meta.type;
  out.tree.unit = meta.unit;
  out.tree.scale = meta.scale;
  out.tree.inverted = meta.inverted;
  if (meta.overflow) out.hint = kOverflow;
  return out;
}

Result<profile::Batch> LoadBatch(const std::string& file, const std::string& service) {
  WHEREFORE_ASSIGN_OR_RETURN(formats::FileContent content, LoadContent(file, service));
  return BatchOf(std::move(content), file);
}

Result<formats::FileContent> DecodeContent(const std::shared_ptr<const std::string>& bytes,
                                           const std::string& file, const std::string& service) {
  Result<formats::FileContent> content =
      formats::DecodeFile(bytes, {.service = service.empty() ? DefaultService(file) : service});
  if (!content) return std::move(content).error().Within(file);
  const auto say_rejected = [&](const auto& decoded, std::string_view what) {
    if (decoded.rejected > 0)
      fmt::print(stderr, "warning: {}: {} {} left out: {}\n", file, decoded.rejected, what,
                 decoded.message);
  };
  if (auto* const profiles = std::get_if<formats::DecodedProfiles>(&*content)) {
    say_rejected(*profiles, "profiles");
    profile::Batch& batch = profiles->data;
    // Go's block and mutex profiles differ only in their path.
    if (file.find("/pprof/block") != std::string::npos) {
      for (profile::Profile& p : batch.profiles) p.name = batch.AddText("block");
    }
  } else if (const auto* const spans = std::get_if<formats::DecodedSpans>(&*content)) {
    say_rejected(*spans, "spans");
  }
  return content;
}

Result<profile::Batch> BatchOf(formats::FileContent content, const std::string& file) {
  if (auto* const profiles = std::get_if<formats::DecodedProfiles>(&content))
    return std::move(profiles->data);
  return (std::holds_alternative<profile::FlameTree>(content) ? formats::NoSamplesError()
                                                              : formats::OnlyTracesError())
      .Within(file);
}

}  // namespace wherefore::cli
