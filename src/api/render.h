// Answers as people and programs get them: trees as JSON or binary columns, ETags. Pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "api/open_file.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "net/http.h"
#include "query/looks.h"
#include "query/tested_diff.h"
#include "query/tiers.h"
#include "query/view.h"

namespace wherefore::api {

// Time as it is told, never 0 where there was some.
[[nodiscard]] constexpr std::int64_t Milliseconds(std::int64_t ns) {
  return (ns + 999'999) / 1'000'000;
}

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
  const query::Changes* changes = nullptr;          // the functions that changed most
  const query::TestedDifference* tested = nullptr;  // their statistics; null: not asked for
  std::span<const std::string> types;               // what else it could be of
  const query::Tier* tier = nullptr;                // of a selection: what it was made of
  const FileFacts* file = nullptr;                  // of a file, and of the one before it
  const FileFacts* base = nullptr;
};
// Of a difference; the view must outlive it.
[[nodiscard]] TreeAnswer AnswerOf(const query::DiffView& view);
[[nodiscard]] Result<net::HttpResponse> RenderTree(const net::HttpRequest& request,
                                                   const std::string& format,
                                                   const TreeAnswer& answer);
// What an answer was made of, and why there is nothing, or not all.
void AppendTier(JsonWriter& json, const query::Tier& tier, const std::string& hint);
// Says so where more was added up than 64 bits hold.
void AppendOverflow(JsonWriter& json, std::initializer_list<std::int64_t> sums);

// 304 when the client has it already.
void AddEtag(const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace wherefore::api
