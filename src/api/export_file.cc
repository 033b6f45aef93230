#include "api/export_file.h"

#include <array>

#include <fmt/format.h>

#include "base/gzip.h"
#include "formats/formats.h"
#include "formats/pyroscope/querier.h"
#include "formats/registry.h"
#include "query/diff.h"

namespace wherefore::api {
namespace {

using net::HttpResponse;
using profile::FlameFunction;
using profile::FlameTree;

constexpr std::array<std::string_view, 5> kTreeFiles = {"folded", "speedscope", "svg", "csv",
                                                        "pprof"};

// RFC 4180. A text that begins like a formula would be run by spreadsheets: it gets a quote in
// front.
void AppendText(std::string& out, std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool formula = !text.empty() && kFormula.find(text.front()) != std::string_view::npos;
  const bool quoted = text.find_first_of("\",\r\n") != std::string_view::npos;
  if (quoted) out += '"';
  if (formula) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  if (quoted) out += '"';
}

void AppendFunction(std::string& out, const FlameFunction& f) {
  AppendText(out, f.name);
  out += ',';
  AppendText(out, f.module);
  out += ',';
  AppendText(out, f.file);
}

std::string UnitOf(const FlameTree& tree) {
  return tree.scale == 1 ? tree.unit : fmt::format("{}/{}", tree.unit, tree.scale);
}

std::string TopCsv(const FlameTree& tree) {
  std::string out = fmt::format(
      "function,module,file,self ({0}),total ({0}),self samples,total samples\r\n", UnitOf(tree));
  for (const profile::TopRow& row : profile::Top(tree)) {
    AppendFunction(out, tree.functions[row.function]);
    out += fmt::format(",{},{},{},{}\r\n", row.self, row.total, row.self_count, row.total_count);
  }
  return out;
}

std::string DiffCsv(const query::DiffTree& diff) {
  std::string out = fmt::format(
      "function,module,file,self before ({0}),self after ({0}),total before ({0}),total after "
      "({0})\r\n",
      UnitOf(diff.tree));
  for (const query::DiffRow& row : query::DiffTop(diff)) {
    AppendFunction(out, diff.tree.functions[row.function]);
    out += fmt::format(",{},{},{},{}\r\n", row.self_before, row.self_after, row.total_before,
                       row.total_after);
  }
  return out;
}

std::string TypeId(const FlameTree& tree) {
  if (tree.type.find(':') != std::string::npos) return tree.type;
  return fmt::format("{0}:{0}:{1}:{0}:{1}", tree.type, tree.unit);
}

HttpResponse Named(std::string content_type, std::string name, std::string body) {
  HttpResponse response{.content_type = std::move(content_type), .body = std::move(body)};
  response.headers["Content-Disposition"] = fmt::format("attachment; filename=\"{}\"", name);
  return response;
}

}  // namespace

Result<HttpResponse> RenderBatch(const profile::Batch& batch, const std::string& format) {
  const formats::Format* const written = formats::FormatOf(format.empty() ? "pprof" : format);
  if (written == nullptr || written->encode == nullptr)
    return Error(Code::kInvalid, fmt::format("parameter 'format': '{}' is not written", format));
  WHEREFORE_ASSIGN_OR_RETURN(std::string body, written->encode(batch));
  if (format == "otlp")
    return HttpResponse{.content_type = "application/x-protobuf", .body = std::move(body)};
  if (format == "otlp-json") return HttpResponse{.body = std::move(body)};
  return Named("application/octet-stream", "profile.pb.gz", Gzip(body));
}

bool IsTreeFile(std::string_view format) {
  return std::find(kTreeFiles.begin(), kTreeFiles.end(), format) != kTreeFiles.end();
}

Result<HttpResponse> RenderTreeFile(const FlameTree& tree, const std::string& format,
                                    const FileTitle& title, const CancelToken& cancel) {
  if (format == "csv") return Named("text/csv; charset=utf-8", "functions.csv", TopCsv(tree));
  const FlameTree plain = profile::Unscaled(tree);
  if (format == "svg")
    return HttpResponse{.content_type = "image/svg+xml",
                        .body = formats::EncodeSvg(
                            profile::Prune(plain, {.min_share = 0.0002, .max_nodes = 20'000}),
                            {.title = title.title, .subtitle = title.subtitle})};
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(profile::WrittenOutBytes(plain)));
  if (format == "folded")
    return HttpResponse{.content_type = "text/plain; charset=utf-8",
                        .body = formats::EncodeFolded(plain)};
  if (format == "speedscope")
    return HttpResponse{.body = formats::EncodeSpeedscope(plain, title.title)};
  return Named("application/octet-stream", "profile.pb.gz",
               Gzip(formats::EncodePprofOfTree(plain, TypeId(plain), title.time_ns)));
}

bool IsDiffFile(std::string_view format) {
  return format == "folded" || format == "csv";
}

Result<HttpResponse> RenderDiffFile(const query::DiffTree& diff, const std::string& format,
                                    const CancelToken& cancel) {
  if (format == "csv") return Named("text/csv; charset=utf-8", "changes.csv", DiffCsv(diff));
  // A stack may have a value on one side only.
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(2 * profile::WrittenOutBytes(diff.tree)));
  return HttpResponse{.content_type = "text/plain; charset=utf-8",
                      .body = formats::EncodeFolded(diff.tree, diff.before_self)};
}

}  // namespace wherefore::api
