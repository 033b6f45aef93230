#include "cli/serve_limits.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include "net/connection_limit.h"
#include "profile/tenant.h"

namespace wherefore::cli {
namespace {

constexpr std::int64_t kMinQueryMemory = std::int64_t{16} << 20;

std::size_t Connections(std::size_t wanted) {
  const std::size_t open_files = net::RaiseOpenFileLimit();
  const std::size_t most = net::MaxConnections(open_files);
  if (wanted > most) {
    Log(LogLevel::kInfo, "fewer connections than --max-connections: the open-file limit is low",
        {{"connections", most}, {"open_files", open_files}});
  }
  return std::min(wanted, most);
}

constexpr std::size_t kMinMemory = 200u << 20;
// The engine's library, thread stacks and heaps reserve most of it without using it.
constexpr std::size_t kReservedAddresses = std::size_t{1200} << 20;
constexpr std::size_t kMinAddresses = std::size_t{1800} << 20;

Result<std::size_t> Memory(const std::string& wanted) {
  MemoryLimit found = FindMemoryLimit();
  if (const std::size_t addresses = AddressesLeft(ReadMemoryUse()); addresses != SIZE_MAX) {
    if (addresses < kMinAddresses) {
      return Error(Code::kInvalid,
                   fmt::format("ulimit -v or -d leaves {} of addresses, most of which the server "
                               "only reserves: it needs at least 1,800 MiB; to limit its memory "
                               "use --memory or a cgroup",
                               FormatBytes(static_cast<std::int64_t>(addresses))));
    }
    found.bytes = std::min(found.bytes, addresses - kReservedAddresses);
  }
  if (wanted.empty()) {
    if (found.bytes < kMinMemory) {
      Log(LogLevel::kWarn, "there is little memory: requests will be refused",
          {{"bytes", found.bytes}, {"limited_by", found.of}});
    }
    return found.bytes;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t bytes, ParseBytes(wanted));
  if (bytes < static_cast<std::int64_t>(kMinMemory)) {
    return Error(Code::kInvalid,
                 fmt::format("--memory {}: a server needs at least 200MiB", wanted));
  }
  const auto memory = static_cast<std::size_t>(bytes);
  if (memory > found.bytes) {
    Log(LogLevel::kWarn, "less memory than --memory",
        {{"bytes", found.bytes}, {"limited_by", found.of}});
  }
  return std::min(memory, found.bytes);
}

Result<store::RetentionRules> ReadRetention(const LimitOptions& options) {
  store::RetentionRules rules;
  if (!options.retention.empty()) {
    auto usual = store::Retention::Parse(options.retention);
    if (!usual) return std::move(usual).error().Within("--retention " + options.retention);
    rules.usual = *usual;
  }
  for (const std::string& text : options.tenant_retention) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return Error(
          Code::kInvalid,
          fmt::format("--tenant-retention {}: expected a tenant and its retention, such as "
                      "team-a:spans=3d,samples=30d",
                      text));
    }
    auto own = store::Retention::Parse(std::string_view(text).substr(colon + 1));
    if (!own) return std::move(own).error().Within("--tenant-retention " + text);
    const std::string name = text.substr(0, colon);
    if (!rules.of_tenant.emplace(profile::TenantNumber(name), *own).second) {
      return Error(Code::kInvalid,
                   fmt::format("--tenant-retention: tenant {} is there twice", name));
    }
  }
  return rules;
}

}  // namespace

void LimitOptions::AddTo(CLI::App& command) {
  command.add_option("--retention", retention,
                     "Drop data older than this, in whole days: 7d, or by kind: "
                     "spans=3d,links=7d,samples=30d,hours=400d (default: keep everything)");
  command
      .add_option("--tenant-retention", tenant_retention,
                  "The same for one tenant (repeatable): TENANT:7d, TENANT:spans=3d,samples=30d")
      ->allow_extra_args(false);
  command
      .add_option("--flush-interval", flush_interval,
                  "How long rows may stay in the log while nobody asks for them")
      ->capture_default_str();
  command
      .add_option("--hours-wait", hours_wait,
                  "How long after its end an hour is summed up, and again after late data")
      ->capture_default_str();
  command
      .add_option("--evidence", evidence,
                  "How long the days of an alert that fired and of a regression are kept at least, "
                  "whatever the retention; 0: no longer than others")
      ->capture_default_str();
  command.add_option("--query-timeout", query_timeout_seconds, "Seconds a query may take")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  command
      .add_option("--query-memory", query_memory,
                  "Memory a query may use, in the engine and again for its answer")
      ->capture_default_str();
  command
      .add_option("--query-cache", query_cache,
                  "Names and stacks kept between queries; more when people ask about hundreds of "
                  "services at once. At most a sixth of what is for requests and queries")
      ->capture_default_str();
  command.add_option(
      "--memory", memory,
      "Memory the server may use: 2GiB (default: what its cgroup, ulimit or the "
      "machine leave it); requests and queries beyond it are refused and told to try again");
  command
      .add_option("--max-connections", max_connections,
                  "Connections of all ports together; the longest idle makes room for a new one. "
                  "Fewer when the open-file limit (ulimit -Hn) is low")
      ->check(CLI::Range(16, 1'000'000))
      ->capture_default_str();
}

Result<Limits> LimitOptions::Read() const {
  Limits limits;
  WHEREFORE_ASSIGN_OR_RETURN(limits.retention, ReadRetention(*this));
  WHEREFORE_ASSIGN_OR_RETURN(limits.flush_interval_ns, ParseDuration(flush_interval));
  if (limits.flush_interval_ns == 0) {
    return Error(Code::kInvalid, fmt::format("--flush-interval {} is no time at all; at least 1ms",
                                             flush_interval));
  }
  WHEREFORE_ASSIGN_OR_RETURN(limits.hours_wait_ns, ParseDuration(hours_wait));
  if (limits.hours_wait_ns < kNsPerSecond)
    return Error(Code::kInvalid, fmt::format("--hours-wait {}: at least 1s", hours_wait));
  if (evidence != "0") {
    WHEREFORE_ASSIGN_OR_RETURN(limits.evidence_ns, ParseDuration(evidence));
  }
  limits.query_timeout_ns = query_timeout_seconds * kNsPerSecond;
  WHEREFORE_ASSIGN_OR_RETURN(limits.query_memory_bytes, ParseBytes(query_memory));
  if (limits.query_memory_bytes < kMinQueryMemory) {
    return Error(Code::kInvalid,
                 fmt::format("--query-memory {}: a query needs at least 16MiB", query_memory));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t cache, ParseBytes(query_cache));
  limits.query_cache_bytes = static_cast<std::size_t>(cache);
  limits.connections = Connections(max_connections);
  WHEREFORE_ASSIGN_OR_RETURN(limits.memory_bytes, Memory(memory));
  return limits;
}

}  // namespace wherefore::cli
