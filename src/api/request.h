// What API requests have in common: parameters, selections, answers as trees. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/open_file.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "net/http.h"
#include "query/engine.h"
#include "query/search.h"

namespace wherefore::api {

// Query parameters by name; unknown names are an error, so that a typo is not silently ignored.
class Parameters {
 public:
  static Result<Parameters> Read(const net::HttpRequest& request,
                                 std::initializer_list<std::string_view> known);

  [[nodiscard]] std::uint32_t tenant() const { return tenant_; }
  [[nodiscard]] bool Has(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] std::string Get(std::string_view name, std::string_view otherwise = "") const;
  [[nodiscard]] std::vector<std::string> All(std::string_view name) const;
  [[nodiscard]] Result<std::int64_t> Int(std::string_view name, std::int64_t otherwise,
                                         std::int64_t least, std::int64_t most) const;
  [[nodiscard]] Result<bool> Flag(std::string_view name) const;  // true or false; false unless said
  [[nodiscard]] Result<double> Share(std::string_view name, double otherwise) const;
  // from/to (times) or since (duration); the last hour when nothing is said. `prefix` for a second
  // range.
  [[nodiscard]] Result<store::TimeRange> Range(std::string_view prefix = "") const;
  // query, type, from, to, since.
  [[nodiscard]] Result<query::Selection> Selection(std::string_view prefix = "") const;
  [[nodiscard]] Result<query::Lens> Lens() const;
  [[nodiscard]] Result<query::Search> Search() const;
  // search, limit: of a list of names that may be long.
  [[nodiscard]] Result<query::ListOf> List(std::int64_t limit, std::int64_t most) const;
  [[nodiscard]] Result<profile::PruneOptions> Prune(std::int64_t default_nodes = 20'000) const;

 private:
  std::uint32_t tenant_ = 0;
  std::multimap<std::string, std::string, std::less<>> values_;
};

// Time as it is told, never 0 where there was some.
[[nodiscard]] constexpr std::int64_t Milliseconds(std::int64_t ns) {
  return (ns + 999'999) / 1'000'000;
}

[[nodiscard]] Result<profile::TraceId> ParseTraceId(std::string_view hex);
[[nodiscard]] Result<profile::SpanId> ParseSpanId(std::string_view hex);

// A tree as columnar JSON or, when the client asks for it (Accept or format=binary), as FG1.
struct TreeAnswer {
  const profile::FlameTree* tree = nullptr;  // pruned
  std::size_t full_nodes = 0;                // before pruning
  bool averaged = false;
  std::string hint;
  const query::Found* found = nullptr;  // of a search, in the unpruned tree
  const std::map<std::string, std::int64_t>* by_span = nullptr;  // hex span id -> value
  // The time in which anything of it was seen, and of what was before; not set: not asked for.
  std::optional<std::int64_t> observed_ns;
  std::optional<std::int64_t> observed_before_ns;
  const std::map<std::string, query::Looks>* looks = nullptr;  // the same of what is seen by looks
  std::string filed_under;                                     // see SpanProfileAnswer
  bool arriving = false;                                       // likewise
  std::span<const std::int64_t> before_total;
  std::span<const std::int64_t> before_self;
  std::span<const std::int64_t> before_count;
  const query::DiffTree* changes = nullptr;  // unpruned: whose functions changed most
  std::span<const std::string> types;        // what else it could be of
  const FileFacts* file = nullptr;           // of a file, and of the one before it
  const FileFacts* base = nullptr;
};
[[nodiscard]] Result<net::HttpResponse> RenderTree(const net::HttpRequest& request,
                                                   const std::string& format,
                                                   const TreeAnswer& answer);
// Says so where more was added up than 64 bits hold.
void AppendOverflow(JsonWriter& json, std::initializer_list<std::int64_t> sums);

// 304 when the client has it already.
void AddEtag(const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace wherefore::api
