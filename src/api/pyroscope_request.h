// What queries in Pyroscope's language have in common: times, types, selectors, what a client can
// take. Pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/pyroscope/querier.h"
#include "net/http.h"
#include "query/catalog.h"
#include "query/labels.h"
#include "query/selector.h"

namespace wherefore::api {

// What a client says in its Accept header.
struct ClientCapabilities {
  bool utf8_label_names = false;
};
// kInvalid when the header cannot be read.
[[nodiscard]] Result<ClientCapabilities> ReadCapabilities(const net::Headers& headers);

// [A-Za-z_][A-Za-z0-9_]*: what a client without the capability can take.
[[nodiscard]] bool IsPlainLabelName(std::string_view name);

// Both ends inclusive, to the millisecond; start and end must be there.
[[nodiscard]] Result<query::TimeRange> ReadRange(std::int64_t start_ms, std::int64_t end_ms);
[[nodiscard]] std::int64_t MillisecondsToNs(std::int64_t ms);

// From the first to the last moment that these are about; everything if one of them names no times.
[[nodiscard]] query::TimeRange AskedFor(
    std::initializer_list<const formats::QuerierRequest*> requests);

// Five parts; a sixth (":delta") is ignored.
[[nodiscard]] Result<std::string> ReadTypeId(std::string_view id);

// The selection behind profileTypeID, labelSelector, start and end.
struct TypedSelection {
  query::Selection selection;
  bool impossible = false;  // its selector contradicts its type
};
[[nodiscard]] Result<TypedSelection> ReadSelection(std::uint32_t tenant, std::string_view type_id,
                                                   std::string_view selector,
                                                   query::TimeRange range);

// Span, trace and profile selectors; ids that are not hex of the right length are kInvalid.
[[nodiscard]] Result<query::Narrowing> ReadNarrowing(const formats::QuerierRequest& request);

// How many nodes a client wants: 8192 when it does not say, at most a million.
[[nodiscard]] Result<std::size_t> ReadMaxNodes(std::int64_t asked);

// All labels of a series as Pyroscope shows them, sorted: those that were sent, the service and
// what follows from the type. `plain_only` leaves out names that older clients cannot take.
[[nodiscard]] formats::LabelPairs PyroscopeLabels(const query::StoredSeries& series,
                                                  bool plain_only);
// The value of one of them, "" when it is not there.
[[nodiscard]] std::string_view PyroscopeLabel(const query::StoredSeries& series,
                                              std::string_view name);

}  // namespace wherefore::api
