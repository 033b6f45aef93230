// The exporters' tables.
#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "gateway/config/component_tables.h"
#include "net/url.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLargest = std::int64_t{1} << 60;
using Options = ExporterOptions;

// An exporter as it is written: what the options alone cannot say.
struct Written {
  Options options;
  std::string storage;
  bool queue_enabled = true;
  std::optional<std::uint64_t> queue_size;
  std::optional<Sizer> sizer;
  std::string format = "json";
};

const std::vector<std::pair<std::string_view, Sizer>>& Sizers() {
  static const std::vector<std::pair<std::string_view, Sizer>> kSizers = {
      {"requests", Sizer::kRequests}, {"items", Sizer::kItems}, {"bytes", Sizer::kBytes}};
  return kSizers;
}

const Fields<TlsOptions>& TlsFields() {
  static const Fields<TlsOptions> kFields = {
      {"insecure", Flag(&TlsOptions::insecure)},
      {"insecure_skip_verify", Flag(&TlsOptions::skip_verify)},
      {"ca_file", Text(&TlsOptions::ca_file)},
      {"include_system_ca_certs_pool", Flag(&TlsOptions::include_system_authorities)},
      {"cert_file", Text(&TlsOptions::certificate_file)},
      {"key_file", Text(&TlsOptions::key_file)},
      {"server_name_override", Text(&TlsOptions::server_name)},
      {"min_version", OneOf(&TlsOptions::min_version, {"1.2", "1.3"})},
      {"reload_interval", Ignored("certificates are read at the start and at a reload")},
  };
  return kFields;
}

const Fields<RetryOptions>& RetryFields() {
  static const Fields<RetryOptions> kFields = {
      {"enabled", Flag(&RetryOptions::enabled)},
      {"initial_interval", Duration(&RetryOptions::initial_interval_ns)},
      {"randomization_factor", Real(&RetryOptions::randomization_factor, 0, 1)},
      {"multiplier", Real(&RetryOptions::multiplier, 1, 100)},
      {"max_interval", Duration(&RetryOptions::max_interval_ns)},
      {"max_elapsed_time", Duration(&RetryOptions::max_elapsed_ns)},
  };
  return kFields;
}

const Fields<BatchOptions>& QueueBatchFields() {
  static const Fields<BatchOptions> kFields = {
      {"flush_timeout", Duration(&BatchOptions::timeout_ns)},
      {"min_size", Whole(&BatchOptions::min_size, 0, kLargest)},
      {"max_size", Whole(&BatchOptions::max_size, 0, kLargest)},
      {"sizer", Choice(&BatchOptions::sizer, Sizers())},
  };
  return kFields;
}

const Fields<Written>& QueueFields() {
  static const auto queue = [](auto member) {
    return In(In(&Written::options, &Options::queue), member);
  };
  static const Fields<Written> kFields = {
      {"enabled", Flag(&Written::queue_enabled)},
      {"num_consumers", Whole(queue(&QueueOptions::consumers), 1, 1000)},
      {"queue_size", Whole(&Written::queue_size, 1, kLargest)},
      {"sizer", Choice(&Written::sizer, Sizers())},
      {"storage", Text(&Written::storage)},
      {"wait_for_result", Flag(queue(&QueueOptions::wait_for_result))},
      {"block_on_overflow", Flag(queue(&QueueOptions::block_on_overflow))},
      {"batch", Present(queue(&QueueOptions::batch), QueueBatchFields())},
  };
  return kFields;
}

auto Of(auto member) {
  return In(&Written::options, member);
}

// What every exporter has.
Fields<Written> With(Fields<Written> own) {
  Fields<Written> fields = {
      {"timeout", Duration(Of(&Options::timeout_ns))},
      {"retry_on_failure", Nested(Of(&Options::retry), RetryFields())},
      {"sending_queue", Nested([](Written& w) -> Written& { return w; }, QueueFields())},
  };
  std::ranges::move(own, std::back_inserter(fields));
  return fields;
}

const Fields<Written>& GrpcFields() {
  static const Fields<Written> kFields = With({
      {"endpoint", Text(Of(&Options::endpoint))},
      {"headers", TextMap(Of(&Options::headers))},
      {"compression", OneOf(Of(&Options::compression), {"gzip", "zstd", "none"})},
      {"tls", Nested(Of(&Options::tls), TlsFields())},
      {"keepalive", Ignored("connections are kept anyway")},
      {"wait_for_ready", Ignored("what cannot be sent stays in the queue")},
  });
  return kFields;
}

struct CompressionParameters {
  int level = 0;
};

const Fields<Written>& HttpFields() {
  static const Fields<CompressionParameters> kParameters = {
      {"level", Whole(&CompressionParameters::level, -1, 22)}};
  static const auto level = [](const Entry& entry, Written& out, Problems& problems) {
    if (!ExpectMap(entry.value, entry.key, problems)) return;
    CompressionParameters parameters;
    ReadMap(entry.value, kParameters, parameters, problems);
    out.options.compression_level = std::max(parameters.level, 0);
  };
  static const Fields<Written> kFields = With({
      {"endpoint", Text(Of(&Options::endpoint))},
      {"traces_endpoint", Text(Of(&Options::traces_endpoint))},
      {"profiles_endpoint", Text(Of(&Options::profiles_endpoint))},
      {"encoding",
       Choice(Of(&Options::json),
              std::vector<std::pair<std::string_view, bool>>{{"proto", false}, {"json", true}})},
      {"headers", TextMap(Of(&Options::headers))},
      {"compression", OneOf(Of(&Options::compression), {"gzip", "zstd", "none"})},
      {"compression_params", level},
      {"tls", Nested(Of(&Options::tls), TlsFields())},
  });
  return kFields;
}

const Fields<Written>& PyroscopeFields() {
  static const Fields<Written> kFields = With({
      {"endpoint", Text(Of(&Options::endpoint))},
      {"headers", TextMap(Of(&Options::headers))},
      {"tls", Nested(Of(&Options::tls), TlsFields())},
  });
  return kFields;
}

auto OfFile(auto member) {
  return In(Of(&Options::file), member);
}

struct Rotation {
  std::uint64_t max_megabytes = 100;
  int max_days = 0;
  int max_backups = 100;
};

void ReadRotation(const Entry& entry, Written& out, Problems& problems) {
  static const Fields<Rotation> kFields = {{"max_megabytes", Whole(&Rotation::max_megabytes, 1)},
                                           {"max_days", Whole(&Rotation::max_days)},
                                           {"max_backups", Whole(&Rotation::max_backups)},
                                           {"localtime", Ignored("names have UTC in them")}};
  if (!ExpectMap(entry.value, entry.key, problems)) return;
  Rotation rotation;
  ReadMap(entry.value, kFields, rotation, problems);
  out.options.file.max_bytes = rotation.max_megabytes << 20;
  out.options.file.max_days = rotation.max_days;
  out.options.file.max_backups = rotation.max_backups;
}

const Fields<Written>& FileFields() {
  using Words = std::vector<std::pair<std::string_view, bool>>;
  static const Fields<Written> kFields = With({
      {"path", Text(OfFile(&Options::File::path))},
      {"format", Choice(OfFile(&Options::File::proto), Words{{"json", false}, {"proto", true}})},
      {"compression", Choice(OfFile(&Options::File::zstd), Words{{"none", false}, {"zstd", true}})},
      {"rotation", ReadRotation},
      {"append", Flag(OfFile(&Options::File::append))},
      {"create_directory", Flag(OfFile(&Options::File::create_directory))},
  });
  return kFields;
}

const Fields<Written>& DebugFields() {
  using Verbosity = Options::Debug::Verbosity;
  static const auto debug = [](auto member) { return In(Of(&Options::debug), member); };
  static const Fields<Written> kFields = With({
      {"verbosity", Choice(debug(&Options::Debug::verbosity),
                           std::vector<std::pair<std::string_view, Verbosity>>{
                               {"basic", Verbosity::kBasic},
                               {"normal", Verbosity::kNormal},
                               {"detailed", Verbosity::kDetailed}})},
      {"sampling_initial", Whole(debug(&Options::Debug::sampling_initial))},
      {"sampling_thereafter", Whole(debug(&Options::Debug::sampling_thereafter))},
      {"use_internal_logger", Ignored("output goes to the log")},
  });
  return kFields;
}

// The queue: on disk always; 1 GiB unless a size is given.
void Finish(Written written, ExporterConfig& out) {
  QueueOptions& queue = written.options.queue;
  if (written.queue_size) {
    queue.size = *written.queue_size;
    queue.sizer = written.sizer.value_or(Sizer::kRequests);
  }
  // Without a queue the sender waits for what the next hop says.
  if (!written.queue_enabled) queue.wait_for_result = true;
  out.options = std::move(written.options);
  out.options.id = out.id;
  out.storage = std::move(written.storage);
}

void ReadExporter(const Node& node, const Fields<Written>& fields, Options options,
                  ExporterConfig& out, Problems& problems) {
  Written written;
  written.options = std::move(options);
  ReadMap(node, fields, written, problems);
  Finish(std::move(written), out);
}

void Require(const std::string& text, std::string_view key, const ExporterConfig& out,
             Problems& problems) {
  if (text.empty()) problems.Fail(out.place, fmt::format("`{}` needs `{}`", out.id, key));
}

void CheckUrl(const std::string& url, std::string_view key, const ExporterConfig& out,
              Problems& problems) {
  if (url.empty()) return;
  if (const auto parsed = net::ParseUrl(url); !parsed) {
    problems.Fail(out.place, fmt::format("`{}`: {}", key, parsed.error().message()));
  }
}

void ReadOtlpGrpc(const Node& node, ExporterConfig& out, Problems& problems) {
  ReadExporter(node, GrpcFields(), {.kind = Options::Kind::kOtlpGrpc, .timeout_ns = 5 * kSecond},
               out, problems);
  Require(out.options.endpoint, "endpoint", out, problems);
}

void ReadOtlpHttp(const Node& node, ExporterConfig& out, Problems& problems) {
  ReadExporter(node, HttpFields(), {.kind = Options::Kind::kOtlpHttp}, out, problems);
  const Options& o = out.options;
  if (o.traces_endpoint.empty() && o.profiles_endpoint.empty()) {
    Require(o.endpoint, "endpoint", out, problems);
  }
  CheckUrl(o.endpoint, "endpoint", out, problems);
  CheckUrl(o.traces_endpoint, "traces_endpoint", out, problems);
  CheckUrl(o.profiles_endpoint, "profiles_endpoint", out, problems);
}

void ReadPyroscope(const Node& node, ExporterConfig& out, Problems& problems) {
  ReadExporter(node, PyroscopeFields(), {.kind = Options::Kind::kPyroscope}, out, problems);
  Require(out.options.endpoint, "endpoint", out, problems);
  CheckUrl(out.options.endpoint, "endpoint", out, problems);
}

void ReadFile(const Node& node, ExporterConfig& out, Problems& problems) {
  ReadExporter(node, FileFields(), {.kind = Options::Kind::kFile}, out, problems);
  Require(out.options.file.path, "path", out, problems);
}

void ReadDebug(const Node& node, ExporterConfig& out, Problems& problems) {
  ReadExporter(node, DebugFields(), {.kind = Options::Kind::kDebug}, out, problems);
}

void ReadStore(const Node& node, ExporterConfig& out, Problems& problems) {
  static const Fields<ExporterConfig> kFields = {};
  ReadMap(node, kFields, out, problems);
  out.is_store = true;
}

}  // namespace

const ComponentTypes<ExporterConfig>& ExporterTypes() {
  static const ComponentTypes<ExporterConfig> kTypes = {
      {"wherefore", ReadStore},   {"otlp", ReadOtlpGrpc},      {"otlp_grpc", ReadOtlpGrpc},
      {"otlphttp", ReadOtlpHttp}, {"otlp_http", ReadOtlpHttp}, {"pyroscope", ReadPyroscope},
      {"file", ReadFile},         {"debug", ReadDebug}};
  return kTypes;
}

}  // namespace wherefore::gateway
