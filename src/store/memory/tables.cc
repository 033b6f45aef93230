// See tables.h. Columns are read by their place in the table (engine/schema.cc).
#include "store/memory/tables.h"

#include <utility>

#include "store/engine/ids.h"
#include "store/engine/native.h"
#include "store/engine/schema.h"

namespace wherefore::store::memory {
namespace {

// One row of a block, column after column: each call reads the next.
class Cells {
 public:
  Cells(const NativeBlock& block, std::size_t row) : block_(block), row_(row) {}

  [[nodiscard]] std::uint32_t U32() { return Next().U32(row_); }
  [[nodiscard]] std::uint64_t U64() { return Next().Uint(row_); }
  [[nodiscard]] std::int64_t I64() { return Next().Int(row_); }
  [[nodiscard]] double F64() { return Next().Float(row_); }
  [[nodiscard]] std::string Text() { return std::string(Next().Text(row_)); }
  template <typename Id>
  [[nodiscard]] Id Bytes() {
    return AsId<Id>(Next().Text(row_));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> Numbers() {
    const NativeColumn& column = Next();
    std::vector<T> out;
    for (std::size_t i = column.ArrayBegin(row_); i < column.ArrayEnd(row_); ++i)
      out.push_back(static_cast<T>(column.Int(i)));
    return out;
  }
  // Of two columns: names and values.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Pairs() {
    const NativeColumn& names = Next();
    const NativeColumn& values = Next();
    std::vector<std::pair<std::string, std::string>> out;
    for (std::size_t i = names.ArrayBegin(row_); i < names.ArrayEnd(row_); ++i)
      out.emplace_back(names.Text(i), values.Text(i));
    return out;
  }

 private:
  const NativeColumn& Next() { return block_.columns[column_++]; }

  const NativeBlock& block_;
  const std::size_t row_;
  std::size_t column_ = 0;
};

// Tables begin with bucket, tenant, service; the writer is their fourth or last column.
DictionaryKey Place(Cells& c) {
  DictionaryKey key;
  key.bucket = c.U32();
  key.tenant = c.U32();
  key.service = c.U64();
  return key;
}
DictionaryKey Key(Cells& c) {
  DictionaryKey key = Place(c);
  key.writer = c.U32();
  return key;
}

void AddService(Cells& c, Tables& tables) {
  ServiceName& service = tables.services.emplace_back();
  service.key = Key(c);
  service.signal = c.U32();
  service.name = c.Text();
}

void AddType(Cells& c, Tables& tables) {
  TypeRow type;
  type.dictionary = Key(c);
  type.type = c.U64();
  type.details.name = c.Text();
  type.details.sample_type = c.Text();
  type.details.sample_unit = c.Text();
  type.details.period_type = c.Text();
  type.details.period_unit = c.Text();
  type.details.period = c.I64();
  type.details.count_rule = static_cast<profile::CountRule>(c.U32());
  type.details.stands_for_cpu = c.U32() != 0;
  tables.names[type.dictionary].types.push_back(std::move(type));
}

void AddSeries(Cells& c, Tables& tables) {
  SeriesRow& series = tables.names[Key(c)].series.emplace_back();
  series.series = c.U32();
  series.parent = c.U32();
  series.labels = c.Pairs();
  series.encoded = c.Text();
}

void AddMapping(Cells& c, Tables& tables) {
  auto& [id, mapping] = tables.names[Key(c)].mappings.emplace_back();
  id = c.U32();
  mapping.start = c.U64();
  mapping.limit = c.U64();
  mapping.file_offset = c.U64();
  mapping.file = c.Text();
  mapping.build_id = c.Text();
  mapping.attributes = c.Text();
}

void AddFunction(Cells& c, Tables& tables) {
  auto& [id, function] = tables.names[Key(c)].functions.emplace_back();
  id = c.U32();
  function.name = c.Text();
  function.system_name = c.Text();
  function.file = c.Text();
  function.start_line = c.I64();
}

void AddFrame(Cells& c, Tables& tables) {
  auto& [id, frame] = tables.names[Key(c)].frames.emplace_back();
  id = c.U32();
  frame.mapping = c.U32();
  frame.address = c.U64();
  const auto functions = c.Numbers<std::uint32_t>();
  const auto lines = c.Numbers<std::uint32_t>();
  const auto columns = c.Numbers<std::uint32_t>();
  for (std::size_t i = 0; i < functions.size(); ++i)
    frame.lines.push_back({functions[i], lines[i], columns[i]});
  frame.attributes = c.Text();
}

void AddStack(Cells& c, Tables& tables) {
  auto& [id, frames] = tables.names[Key(c)].stacks.emplace_back();
  id = c.U32();
  frames = c.Numbers<std::uint32_t>();
}

void AddProfile(Cells& c, Tables& tables) {
  auto& [row, count] = tables.profiles.emplace_back();
  row.dictionary = Place(c);
  row.type = c.U64();
  row.series = c.U32();
  row.time_ns = c.I64();
  row.duration_ns = c.I64();
  row.number = c.U32();
  row.id = c.Bytes<profile::ProfileId>();
  row.total = c.I64();
  count = c.I64();
  row.samples = c.I64();
  row.dictionary.writer = c.U32();
  row.attributes = c.Text();
}

void AddPayload(Cells& c, Tables& tables) {
  StoredPayload& payload = tables.payloads.emplace_back();
  payload.key = Key(c);
  payload.number = c.U32();
  payload.payload.format = c.Text();
  payload.payload.bytes = std::make_shared<const std::string>(c.Text());
}

void AddSample(Cells& c, Tables& tables) {
  StoredSample& sample = tables.samples.emplace_back();
  sample.key = Place(c);
  sample.type = c.U64();
  sample.time_ns = c.I64();
  sample.profile = c.U32();
  sample.series = c.U32();
  sample.stack = c.U32();
  sample.key.writer = c.U32();
  sample.value = c.I64();
  sample.count = c.I64();
}

void AddLink(Cells& c, Tables& tables) {
  LinkRow& link = tables.links.emplace_back();
  link.dictionary.bucket = c.U32();
  link.dictionary.tenant = c.U32();
  link.trace = c.Bytes<profile::TraceId>();
  link.span = c.Bytes<profile::SpanId>();
  link.dictionary.service = c.U64();
  link.type = c.U64();
  link.profile = c.U32();
  link.series = c.U32();
  link.stack = c.U32();
  link.value = c.I64();
  link.count = c.I64();
  link.dictionary.writer = c.U32();
}

void AddDetail(Cells& c, Tables& tables) {
  StoredDetail& detail = tables.details.emplace_back();
  detail.key = Place(c);
  detail.type = c.U64();
  detail.time_ns = c.I64();
  detail.profile = c.U32();
  detail.row.series = c.U32();
  detail.row.stack = c.U32();
  detail.row.value = c.I64();
  detail.row.count = c.I64();
  detail.row.trace = c.Bytes<profile::TraceId>();
  detail.row.span = c.Bytes<profile::SpanId>();
  detail.row.times = c.Numbers<std::uint64_t>();
  detail.row.values = c.Numbers<std::int64_t>();
  detail.row.attributes = c.Text();
  detail.key.writer = c.U32();
}

void AddSpan(Cells& c, Tables& tables) {
  auto& [key, span] = tables.spans.emplace_back();
  key = Place(c);
  span.service = key.service;
  span.start_ns = c.I64();
  span.trace = c.Bytes<profile::TraceId>();
  span.id = c.Bytes<profile::SpanId>();
  span.parent = c.Bytes<profile::SpanId>();
  span.name = c.Text();
  span.kind = static_cast<std::uint8_t>(c.U32());
  span.status_code = static_cast<std::uint8_t>(c.U32());
  span.status_message = c.Text();
  span.duration_ns = c.I64();
  span.attributes = c.Pairs();
  span.resource = c.Pairs();
  span.encoded = c.Text();
  key.writer = c.U32();
}

void AddTrace(Cells& c, Tables& tables) {
  TraceEntry& entry = tables.traces.emplace_back();
  entry.bucket = c.U32();
  entry.tenant = c.U32();
  entry.trace = c.Bytes<profile::TraceId>();
  entry.service = c.U64();
  entry.first_ns = c.I64();
  entry.last_ns = c.I64();
}

void AddAlertEvent(Cells& c, Tables& tables) {
  AlertEvent& event = tables.alert_events.emplace_back();
  (void)c.U32();  // bucket
  event.tenant = c.U32();
  event.time_ns = c.I64();
  event.number = c.U64();
  event.kind = c.Text();
  event.state = c.Text();
  event.fingerprint = c.U64();
  event.starts_ns = c.I64();
  event.ends_ns = c.I64();
  event.id = c.Text();
  event.group = c.Text();
  event.alert = c.Text();
  event.service = c.Text();
  event.value = c.F64();
  event.low = c.F64();
  event.high = c.F64();
  event.labels = c.Pairs();
  event.detail = c.Text();
}

void AddRegressionEvent(Cells& c, Tables& tables) {
  RegressionEvent& event = tables.regression_events.emplace_back();
  (void)c.U32();  // bucket
  event.tenant = c.U32();
  event.time_ns = c.I64();
  event.number = c.U64();
  event.kind = c.Text();
  event.event = c.Text();
  event.state = c.Text();
  event.id = c.U64();
  event.service = c.Text();
  event.type = c.Text();
  event.function = c.Text();
  event.module = c.Text();
  event.label = c.Text();
  event.version_before = c.Text();
  event.version = c.Text();
  event.since_ns = c.I64();
  event.until_ns = c.I64();
  event.value = c.F64();
  event.low = c.F64();
  event.high = c.F64();
  event.why = c.Text();
  event.facts = c.Pairs();
}

void AddStackHour(Cells& c, Tables& tables) {
  StoredStackHour& sum = tables.stack_hours.emplace_back();
  sum.key = Place(c);
  sum.type = c.U64();
  sum.hour = c.U32();
  sum.version = c.Text();
  sum.key.writer = c.U32();
  sum.stack = c.U32();
  sum.value = c.I64();
  sum.count = c.I64();
  sum.revision = c.U32();
}

void AddHourRoll(Cells& c, Tables& tables) {
  StoredRoll& roll = tables.hour_rolls.emplace_back();
  roll.key = Key(c);
  roll.hour = c.U32();
  roll.revision = c.U32();
  roll.content.profiles = c.I64();
  roll.content.through = c.U32();
  roll.content.samples = c.I64();
  (void)c.U64();  // rows
  roll.time_ns = c.I64();
}

// Of no answer of the reader.
void AddNothing(Cells& /*cells*/, Tables& /*tables*/) {}

// In the order of Table.
constexpr void (*kAdd[])(Cells&, Tables&) = {
    AddService,  AddType,    AddSeries,         AddMapping,   AddFunction, AddFrame,
    AddStack,    AddProfile, AddPayload,        AddSample,    AddLink,     AddDetail,
    AddSpan,     AddTrace,   AddAlertEvent,     AddStackHour, AddNothing,  AddNothing,
    AddHourRoll, AddNothing, AddRegressionEvent};
static_assert(std::size(kAdd) == kTableCount);

}  // namespace

Result<> Tables::Add(const RowSet& set) {
  std::string bytes;
  for (const Rows& table : set.tables()) {
    const TableDef& definition = Definition(table.table());
    NativeCutter cutter(table);
    std::size_t count = 0;
    while (cutter.Next(bytes, count)) {
      WHEREFORE_ASSIGN_OR_RETURN(const NativeResult result,
                                 NativeResult::Parse(bytes, definition.columns.size()));
      for (const NativeBlock& block : result.blocks) {
        for (std::size_t row = 0; row < block.rows; ++row) {
          Cells cells(block, row);
          kAdd[static_cast<std::size_t>(definition.id)](cells, *this);
        }
      }
      rows[std::string(definition.name)] += count;
    }
  }
  return {};
}

}  // namespace wherefore::store::memory
