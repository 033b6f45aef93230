// Encoder, part 3: spans and the index that finds a trace's spans.
#include <algorithm>
#include <map>
#include <utility>

#include "store/write/encode_rows.h"
#include "store/write/span_extras.h"

namespace wherefore::store {

using profile::SpanBatch;

namespace {

struct Labels {
  std::vector<std::string> texts;  // whose views are in `values`
  std::vector<std::string_view> names;
  std::vector<std::string_view> values;
};

Labels AsText(const SpanBatch& batch, profile::Range range) {
  Labels labels;
  for (const auto& attribute : batch.OwnAttributes(range)) {
    labels.names.push_back(batch.Text(attribute.key));
    labels.texts.push_back(ValueText(batch, attribute.value));
  }
  labels.values.assign(labels.texts.begin(), labels.texts.end());
  return labels;
}

}  // namespace

// Spans come resource by resource and scope by scope, so that remembering the last is enough.
struct Encoder::SpanOwner {
  profile::Id resource = 0;
  profile::Id scope = 0;
  Labels labels;
  std::string extras;

  void Become(const SpanBatch& batch, const profile::Span& span, bool first) {
    if (first || resource != span.resource)
      labels = AsText(batch, batch.resources[span.resource].attributes);
    if (first || resource != span.resource || scope != span.scope)
      extras = EncodeSpanOwner(batch, span.resource, span.scope);
    resource = span.resource;
    scope = span.scope;
  }
};

Result<std::vector<Encoder::Place>> Encoder::PlaceSpans(const profile::WriteRequest& request,
                                                        const SpanBatch& batch, std::int64_t now_ns,
                                                        std::uint64_t segment, Refusals& refusals) {
  const std::vector<Service> services = ServicesOf(batch);
  std::vector<Place> places;
  places.reserve(batch.spans.size());
  for (const profile::Span& span : batch.spans) {
    const auto time =
        span.start_ns == 0
            ? request.arrival_ns
            : static_cast<std::int64_t>(std::min<std::uint64_t>(span.start_ns, INT64_MAX));
    WHEREFORE_ASSIGN_OR_RETURN(places.emplace_back(),
                               PlaceAt(request.tenant, services[span.resource], Kind::kSpans, time,
                                       now_ns, segment, refusals));
  }
  return places;
}

void Encoder::EncodeSpans(const SpanBatch& batch, const std::vector<Place>& places,
                          Refusals& refusals) {
  struct Times {
    std::int64_t first;
    std::int64_t last;
  };
  std::map<std::pair<const Dictionary*, profile::TraceId>, Times> traces;
  SpanOwner owner;
  bool first = true;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (place.dictionary == nullptr || !HasRoom(refusals)) continue;
    const profile::Span& span = batch.spans[i];
    if (!place.dictionary->named_for_spans) {
      NameService(*place.dictionary, ServiceName(batch, batch.resources[span.resource]), true);
    }
    owner.Become(batch, span, std::exchange(first, false));
    EncodeSpan(batch, span, owner, place);
    const auto [entry, added] =
        traces.try_emplace({place.dictionary, span.trace}, Times{place.time_ns, place.time_ns});
    entry->second.first = std::min(entry->second.first, place.time_ns);
    entry->second.last = std::max(entry->second.last, place.time_ns);
  }
  for (const auto& [key, times] : traces) {
    const DictionaryKey& dictionary = key.first->key;
    (*rows_)[Table::kTraceIndex]
        .Begin(dictionary.bucket, dictionary.tenant)
        .Bytes(key.second)
        .Put(dictionary.service)
        .Put(times.first)
        .Put(times.last);
  }
}

void Encoder::EncodeSpan(const SpanBatch& batch, const profile::Span& span, const SpanOwner& owner,
                         const Place& place) {
  const Labels own = AsText(batch, span.attributes);
  const std::uint64_t duration = std::min<std::uint64_t>(
      span.end_ns > span.start_ns ? span.end_ns - span.start_ns : 0, INT64_MAX);
  Begin(Table::kSpans, *place.dictionary)
      .Put(place.time_ns)
      .Bytes(span.trace)
      .Bytes(span.id)
      .Bytes(span.parent)
      .Text(batch.Text(span.name))
      .Put(std::uint32_t{span.kind})
      .Put(std::uint32_t{span.status_code})
      .Text(batch.Text(span.status_message))
      .Put(duration)
      .Texts(own.names)
      .Texts(own.values)
      .Texts(owner.labels.names)
      .Texts(owner.labels.values)
      .Text(EncodeSpanExtras(batch, span, owner.extras))
      .Put(place.dictionary->key.writer);
}

}  // namespace wherefore::store
