// Tables: the rows of every table as plain structs, filled from the very blocks that the engine
// would be given (write/rows.h, NativeCutter), so that ids, buckets, dictionaries and counts are
// those of the real writer.
//
// Nothing is ever taken away. Not thread-safe: whoever owns them locks (memory_reader.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/read.h"
#include "store/write/rows.h"

namespace wherefore::store::memory {

struct ServiceName {
  DictionaryKey key;
  std::uint32_t signal = 0;  // 1 profiles, 2 spans
  std::string name;
};

// A row of a dictionary, by its id.
template <typename Row>
struct Named {
  std::uint32_t id = 0;
  Row row;
};
// Ids rise, as they were given.
struct Names {
  std::vector<TypeRow> types;
  std::vector<SeriesRow> series;
  std::vector<Named<MappingRow>> mappings;
  std::vector<Named<FunctionRow>> functions;
  std::vector<Named<FrameRow>> frames;
  std::vector<Named<std::vector<std::uint32_t>>> stacks;
};

struct StoredProfile {
  ProfileRow row;
  std::int64_t count = 0;
};
struct StoredPayload {
  DictionaryKey key;
  std::uint32_t number = 0;
  Payload payload;
};
struct StoredSample {
  DictionaryKey key;
  std::uint64_t type = 0;
  std::int64_t time_ns = 0;
  std::uint32_t profile = 0;
  std::uint32_t series = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
};
struct StoredDetail {
  DictionaryKey key;
  std::uint64_t type = 0;
  std::int64_t time_ns = 0;
  std::uint32_t profile = 0;
  SampleRow row;
};
struct StoredSpan {
  DictionaryKey key;
  SpanRow row;  // without the service's name
};
struct StoredStackHour {
  DictionaryKey key;
  std::uint64_t type = 0;
  std::uint32_t hour = 0;
  std::string version;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
  std::uint32_t revision = 0;
};
struct StoredRoll {
  DictionaryKey key;
  std::uint32_t hour = 0;
  std::uint32_t revision = 0;
  HourContent content;
  std::int64_t time_ns = 0;
};
// Where spans of a trace lie.
struct TraceEntry {
  std::uint32_t bucket = 0;
  std::uint32_t tenant = 0;
  std::uint64_t service = 0;
  profile::TraceId trace{};
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

struct Tables {
  std::vector<ServiceName> services;
  std::map<DictionaryKey, Names> names;
  std::vector<StoredProfile> profiles;
  std::vector<StoredPayload> payloads;
  std::vector<StoredSample> samples;
  std::vector<LinkRow> links;
  std::vector<StoredDetail> details;
  std::vector<StoredSpan> spans;
  std::vector<TraceEntry> traces;
  std::vector<AlertEvent> alert_events;
  std::vector<StoredStackHour> stack_hours;
  std::vector<StoredRoll> hour_rolls;
  std::vector<RegressionEvent> regression_events;
  std::map<std::string, std::uint64_t> rows;  // by table, of those that have any

  // All of them, table after table as the engine gets them; kCorrupt when the blocks cannot be
  // read, which is our mistake.
  [[nodiscard]] Result<> Add(const RowSet& rows);
};

}  // namespace wherefore::store::memory
