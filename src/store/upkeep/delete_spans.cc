// Delete, part 3: spans of a service, all of them or those whose attributes match, and the index
// rows of traces that have no span left there.
//
// Attributes are looked at here, page by page, and spans are removed by their ids: the engine keeps
// the text of a statement, and a value that has leaked must not be in it.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr std::size_t kPage = 20'000;

// Where a page ends: spans are read in this order.
struct Position {
  std::int64_t start = INT64_MIN;
  std::string trace = std::string(16, '\0');
  std::string span = std::string(8, '\0');
};

std::string ServiceCondition(const DictionaryKey& key) {
  return fmt::format("tenant = {} AND service = {} AND bucket = {}", key.tenant, key.service,
                     key.bucket);
}

struct Page {
  std::size_t rows = 0;
  std::vector<std::string> matched;  // quoted hex of trace and span
};

Result<Page> ReadPage(Transport& transport, const std::string& where, const SpanPredicate& matches,
                      Position& position) {
  struct Row {
    Position position;
    SpanLabels labels;
  };
  constexpr auto kColumns = Columns<Row>(Col("start", &Row::position, &Position::start),
                                         Col("trace", &Row::position, &Position::trace),
                                         Col("span", &Row::position, &Position::span),
                                         Pairs("names", "`values`", &Row::labels),
                                         Pairs("resource_names", "resource_values", &Row::labels));
  const std::string from = fmt::format(
      "FROM {} WHERE {} AND (start, trace, span) > ({}, {}, {}) ORDER BY start, trace, span LIMIT "
      "{}",
      PhysicalName(Table::kSpans), where, position.start, QuoteBytes(position.trace),
      QuoteBytes(position.span), kPage);
  Page page;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(transport, kColumns, from, [&](Row&& row) {
    ++page.rows;
    position = std::move(row.position);
    if (!matches(row.labels)) return;
    page.matched.push_back(fmt::format("'{}{}'", ToHex(position.trace), ToHex(position.span)));
  }));
  return page;
}

}  // namespace

Result<ByBucket> StoreImpl::MatchingSpans(std::uint32_t bucket, const std::string& where,
                                          const SpanPredicate& matches) {
  ByBucket found;
  Position position;
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(const Page page, ReadPage(*transport_, where, matches, position));
    if (!page.matched.empty()) {
      found[bucket].push_back(fmt::format("{} AND lower(concat(hex(trace), hex(span))) IN ({})",
                                          where, fmt::join(page.matched, ",")));
    }
    if (page.rows < kPage) return found;
  }
}

Result<std::uint64_t> StoreImpl::DeleteSpans(const DeleteRequest& request,
                                             std::set<DictionaryKey>& touched) {
  std::uint64_t deleted = 0;
  std::map<std::string, std::uint32_t> services;  // one service has a dictionary per writer
  for (const DictionaryKey& key : request.spans_of) services[ServiceCondition(key)] = key.bucket;
  for (const auto& [service, bucket] : services) {
    const std::string where = fmt::format("{} AND start >= {} AND start < {}", service,
                                          request.range.from_ns, request.range.to_ns);
    ByBucket matching{{bucket, {where}}};
    if (request.span_matches) {
      WHEREFORE_ASSIGN_OR_RETURN(matching, MatchingSpans(bucket, where, request.span_matches));
    }
    WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t count,
                               DeleteRows(Table::kSpans, matching, touched));
    deleted += count;
  }
  if (deleted == 0) return deleted;
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  for (const auto& [service, bucket] : services) {
    WHEREFORE_RETURN_IF_ERROR(
        Queue({Table::kTraceIndex, "DELETE", bucket,
               fmt::format("{0} AND trace NOT IN (SELECT trace FROM {1} WHERE {0})", service,
                           PhysicalName(Table::kSpans))}));
  }
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  return deleted;
}

}  // namespace wherefore::store
