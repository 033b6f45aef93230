// The receivers' tables.
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "gateway/config/component_tables.h"
#include "net/url.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

constexpr std::int64_t kMostMiB = 4096;

// A port as it is written.
struct Written {
  std::string endpoint;
  Place endpoint_place;
  PortConfig port;
  std::string authenticator;
  std::uint64_t mib = 0;
};

// Text whose place matters later.
auto Endpoint() {
  return [](const Entry& entry, Written& out, Problems& problems) {
    Text (&Written::endpoint)(entry, out, problems);
    out.endpoint_place = entry.value.place;
  };
}

const Fields<Written>& TlsFields() {
  static const Fields<Written> kFields = {
      {"cert_file", Text(In(&Written::port, &PortConfig::tls_certificate))},
      {"key_file", Text(In(&Written::port, &PortConfig::tls_key))},
      {"client_ca_file", Text(In(&Written::port, &PortConfig::tls_client_ca))},
      {"min_version", Ignored("connections use TLS 1.2 or later")},
      {"reload_interval", Ignored("certificates are read at the start and at a reload")},
  };
  return kFields;
}

const Fields<Written>& AuthFields() {
  static const Fields<Written> kFields = {{"authenticator", Text(&Written::authenticator)}};
  return kFields;
}

auto Itself() {
  return [](auto& out) -> auto& { return out; };
}

Fields<Written> CommonFields() {
  return {
      {"endpoint", Endpoint()},
      {"tls", Nested(Itself(), TlsFields())},
      {"auth", Nested(Itself(), AuthFields())},
      {"include_metadata", Ignored("tenants are passed on anyway")},
      {"keepalive", Ignored("the server looks after its connections itself")},
  };
}

const Fields<Written>& GrpcFields() {
  static const Fields<Written> kFields = [] {
    Fields<Written> fields = CommonFields();
    fields.push_back({"max_recv_msg_size_mib", Whole(&Written::mib, 1, kMostMiB)});
    return fields;
  }();
  return kFields;
}

const Fields<Written>& HttpFields() {
  static const Fields<Written> kFields = [] {
    Fields<Written> fields = CommonFields();
    fields.push_back({"max_request_body_size", Bytes(In(&Written::port, &PortConfig::max_bytes))});
    fields.push_back({"traces_url_path", Text(In(&Written::port, &PortConfig::traces_path))});
    fields.push_back({"profiles_url_path", Text(In(&Written::port, &PortConfig::profiles_path))});
    fields.push_back({"cors", Ignored("browsers do not send to this port")});
    return fields;
  }();
  return kFields;
}

const Fields<Written>& PyroscopeHttpFields() {
  static const Fields<Written> kFields = [] {
    Fields<Written> fields = CommonFields();
    fields.push_back({"max_request_body_size", Bytes(In(&Written::port, &PortConfig::max_bytes))});
    return fields;
  }();
  return kFields;
}

void CheckPath(const std::string& path, std::string_view key, const Place& place,
               Problems& problems) {
  if (path.empty() || path.starts_with('/')) return;
  problems.Fail(place, fmt::format("`{}`: expected a path that begins with /", key));
}

// Turns a port as written into what serve needs.
PortConfig Finish(Written written, const Place& place, std::string_view otherwise,
                  const Extensions& extensions, Problems& problems) {
  PortConfig port = std::move(written.port);
  port.given = !written.endpoint.empty();
  (void)ReadEndpoint(port.given ? std::string_view(written.endpoint) : otherwise,
                     port.given ? written.endpoint_place : place, port.host, port.port, problems);
  if (written.mib > 0) port.max_bytes = written.mib << 20;
  if (port.tls_certificate.empty() != port.tls_key.empty()) {
    problems.Fail(place, "`tls`: cert_file and key_file go together");
  }
  if (!port.tls_client_ca.empty() && port.tls_key.empty()) {
    problems.Fail(place,
                  "`client_ca_file`: clients show certificates over TLS only; it needs "
                  "cert_file and key_file");
  }
  CheckPath(port.traces_path, "traces_url_path", place, problems);
  CheckPath(port.profiles_path, "profiles_url_path", place, problems);
  if (written.authenticator.empty()) return port;
  const auto found = extensions.find(written.authenticator);
  if (found == extensions.end() || !found->first.starts_with("bearertokenauth")) {
    problems.Fail(place, fmt::format("`authenticator`: `{}` is not a bearertokenauth extension in "
                                     "service.extensions",
                                     written.authenticator));
    return port;
  }
  port.own_auth = true;
  port.token = found->second.token;
  return port;
}

struct WrittenProtocols {
  std::optional<Written> grpc;
  std::optional<Written> http;
};
struct WrittenReceiver {
  WrittenProtocols protocols;
};

void ReadOtlp(const Node& node, ReceiverConfig& out, const Extensions& extensions,
              Problems& problems) {
  static const Fields<WrittenProtocols> kProtocols = {
      {"grpc", Present(&WrittenProtocols::grpc, GrpcFields())},
      {"http", Present(&WrittenProtocols::http, HttpFields())}};
  static const Fields<WrittenReceiver> kFields = {
      {"protocols", Nested(&WrittenReceiver::protocols, kProtocols)}};
  WrittenReceiver written;
  ReadMap(node, kFields, written, problems);
  out.kind = ReceiverConfig::Kind::kOtlp;
  auto& [grpc, http] = written.protocols;
  if (!grpc && !http) {
    return problems.Fail(out.place,
                         fmt::format("`{}` needs `protocols` with grpc, http or both", out.id));
  }
  if (grpc) out.grpc = Finish(*std::move(grpc), out.place, "localhost:4317", extensions, problems);
  if (http) out.http = Finish(*std::move(http), out.place, "localhost:4318", extensions, problems);
}

void ReadPyroscope(const Node& node, ReceiverConfig& out, const Extensions& extensions,
                   Problems& problems) {
  static const Fields<WrittenProtocols> kProtocols = {
      {"http", Present(&WrittenProtocols::http, PyroscopeHttpFields())}};
  static const Fields<WrittenReceiver> kFields = {
      {"protocols", Nested(&WrittenReceiver::protocols, kProtocols)}};
  WrittenReceiver written;
  ReadMap(node, kFields, written, problems);
  out.kind = ReceiverConfig::Kind::kPyroscope;
  out.http = Finish(written.protocols.http.value_or(Written()), out.place, "localhost:4040",
                    extensions, problems);
}

// One program to fetch profiles from.
struct Remote {
  std::string endpoint;
  std::int64_t interval_ns = 10'000'000'000;
  std::map<std::string, std::string> headers;
};
struct WrittenPprof {
  std::optional<Remote> remote;
  std::vector<ScrapeJob> jobs;
};

void AddRemote(const Remote& remote, const ReceiverConfig& out, std::vector<ScrapeJob>& jobs,
               Problems& problems) {
  auto job = ParseScrapeTarget(remote.endpoint);
  if (!job) {
    return problems.Fail(
        out.place, "`remote.endpoint`: expected http://host:port, not `" + remote.endpoint + "`");
  }
  job->interval_ns = remote.interval_ns;
  for (const auto& [name, value] : remote.headers) {
    constexpr std::string_view kBearer = "Bearer ";
    if (name == "Authorization" && value.starts_with(kBearer)) {
      job->bearer_token = value.substr(kBearer.size());
    } else {
      problems.Fail(out.place,
                    fmt::format("`headers`: only `Authorization: Bearer ...` can be sent "
                                "to a program, not `{}`",
                                name));
    }
  }
  jobs.push_back(*std::move(job));
}

void ReadPprof(const Node& node, ReceiverConfig& out, Problems& problems) {
  static const Fields<Remote> kRemote = {
      {"endpoint", Text(&Remote::endpoint)},
      {"collection_interval", Duration(&Remote::interval_ns)},
      {"initial_delay", Ignored("targets begin at random moments of the first second")},
      {"headers", TextMap(&Remote::headers)},
      {"tls", Ignored("the system's authorities are used")}};
  static const Fields<WrittenPprof> kFields = {
      {"remote", Present(&WrittenPprof::remote, kRemote)},
      {"scrape_configs", [](const Entry& entry, WrittenPprof& written, Problems& p) {
         written.jobs = ReadScrapeJobs(entry, p);
       }}};
  WrittenPprof written;
  ReadMap(node, kFields, written, problems);
  out.kind = ReceiverConfig::Kind::kPprof;
  if (written.remote) AddRemote(*written.remote, out, written.jobs, problems);
  if (written.jobs.empty()) {
    problems.Fail(out.place, fmt::format("`{}` needs `remote` or `scrape_configs`", out.id));
  }
  out.scrape.jobs = std::move(written.jobs);
}

}  // namespace

bool ReadEndpoint(std::string_view endpoint, const Place& place, std::string& host,
                  std::uint16_t& port, Problems& problems) {
  const std::size_t colon = endpoint.rfind(':');
  const auto number =
      colon == std::string_view::npos ? std::nullopt : ParseUint(endpoint.substr(colon + 1));
  if (!number || *number > 65535) {
    problems.Fail(place, fmt::format("`endpoint`: expected host:port, not `{}`", endpoint));
    return false;
  }
  host = endpoint.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  port = static_cast<std::uint16_t>(*number);
  return true;
}

ComponentTypes<ReceiverConfig> ReceiverTypes(const Extensions& extensions) {
  return {
      {"otlp", [&extensions](const Node& node, ReceiverConfig& out,
                             Problems& problems) { ReadOtlp(node, out, extensions, problems); }},
      {"pyroscope",
       [&extensions](const Node& node, ReceiverConfig& out, Problems& problems) {
         ReadPyroscope(node, out, extensions, problems);
       }},
      {"pprof", ReadPprof},
  };
}

}  // namespace wherefore::gateway
