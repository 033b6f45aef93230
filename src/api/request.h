// What API requests have in common: parameters, selections, views. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "query/catalog.h"
#include "query/lens.h"
#include "query/name_list.h"
#include "query/search.h"
#include "query/view.h"

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
  // from/to (times) or since (duration); where no beginning is said, the last hour, or everything
  // before. `prefix` for a second range.
  [[nodiscard]] Result<query::TimeRange> Range(std::string_view prefix = "",
                                               bool from_the_beginning = false) const;
  // query, type, from, to, since.
  [[nodiscard]] Result<query::Selection> Selection(std::string_view prefix = "") const;
  [[nodiscard]] Result<query::Lens> Lens() const;
  [[nodiscard]] Result<query::Search> Search() const;
  // search, limit: of a list of names that may be long.
  [[nodiscard]] Result<query::ListOf> List(std::int64_t limit, std::int64_t most) const;
  [[nodiscard]] Result<profile::PruneOptions> Prune(std::int64_t default_nodes = 20'000) const;
  // lens, search, max_nodes, min_share; and function, module, side, root where they are allowed.
  [[nodiscard]] Result<query::ViewOptions> View(std::int64_t default_nodes = 20'000) const;

 private:
  [[nodiscard]] Result<std::optional<query::FunctionSide>> Side() const;

  std::uint32_t tenant_ = 0;
  std::multimap<std::string, std::string, std::less<>> values_;
};

// A range without an end ends now: what is drawn has no empty hour at its right.
void EndNow(const Parameters& p, query::TimeRange& range);

[[nodiscard]] Result<profile::TraceId> ParseTraceId(std::string_view hex);
[[nodiscard]] Result<profile::SpanId> ParseSpanId(std::string_view hex);

}  // namespace wherefore::api
