// Turns requests into rows: checks times, gives ids to names that are new, appends to a RowSet.
//
// In steady state a sample costs one hash look-up: frames and functions are looked at only when
// their stack is new. Every hash is computed once per request.
//
// Encode() first finds the dictionary of every profile or span, which may have to be read back and
// may fail; only then are rows appended, which cannot. So after an error there is nothing of the
// request in the rows. Single profiles and spans may be refused: the answer says how many, and why
// the first of them.
//
// Threads: belongs to whoever holds the store's intern mutex.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "profile/sink.h"
#include "profile/typed_attributes.h"
#include "store/hours/tiers.h"
#include "store/retention.h"
#include "store/write/content_hash.h"
#include "store/write/dictionary.h"
#include "store/write/label_set.h"
#include "store/write/rows.h"

namespace wherefore::store {

struct EncodeOptions {
  std::uint32_t max_series_per_service = 20'000;
  RetentionRules retention;
  bool keep_payload = false;
  const Tiers* tiers = nullptr;  // of the store; null: nothing was ever dropped
};

// Why a profile or span cannot be stored at this time; empty when it can.
[[nodiscard]] std::string TimeProblem(std::int64_t time_ns, std::int64_t now_ns,
                                      std::int64_t retention_ns);
class Encoder {
 public:
  Encoder(Dictionaries& dictionaries, EncodeOptions options)
      : dictionaries_(dictionaries), options_(options) {}

  // Appends the request's rows to `rows` and says what the sender is told. `segment` is where the
  // rows will be logged. On error nothing was appended.
  Result<profile::WriteAnswer> Encode(const profile::WriteRequest& request, ContentHashes& hashes,
                                      std::int64_t now_ns, std::uint64_t segment, RowSet& rows);
  // Which profiles of the last request are not in the rows.
  [[nodiscard]] const std::set<std::size_t>& refused() const { return refused_; }

 private:
  struct Place {                       // of a profile or span
    Dictionary* dictionary = nullptr;  // null: refused
    std::int64_t time_ns = 0;
  };
  struct Service {
    std::string_view name;
    std::uint64_t hash = 0;
  };
  struct Refusals {
    std::uint64_t count = 0;
    std::string first;  // why
    // `reason` is asked for the first one only.
    template <typename Reason>
    void Add(const Reason& reason) {
      if (count++ == 0) first = reason();
    }
  };
  struct SampleLabels {
    std::uint32_t series = 0;
    std::string rest;
  };

  struct SampleRecord {
    std::size_t sample = 0;  // in the batch
    std::uint64_t type = 0;
    std::uint32_t series = 0;
    std::uint32_t stack = 0;
    std::int64_t value = 0;
    std::uint32_t count = 0;
  };

  Result<std::vector<Place>> PlaceProfiles(const profile::WriteRequest& request,
                                           const profile::Batch& batch, std::int64_t now_ns,
                                           std::uint64_t segment, Refusals& refusals);
  Result<std::vector<Place>> PlaceSpans(const profile::WriteRequest& request,
                                        const profile::SpanBatch& batch, std::int64_t now_ns,
                                        std::uint64_t segment, Refusals& refusals);
  Result<Place> PlaceAt(std::uint32_t tenant, const Service& service, Kind kind,
                        std::int64_t time_ns, std::int64_t now_ns, std::uint64_t segment,
                        Refusals& refusals);
  // Of every resource of a Batch or SpanBatch.
  template <typename Data>
  static std::vector<Service> ServicesOf(const Data& batch) {
    std::vector<Service> services;
    services.reserve(batch.resources.size());
    for (const profile::Resource& resource : batch.resources) {
      const std::string_view name = ServiceName(batch, resource);
      services.push_back({name, Hash64(name)});
    }
    return services;
  }
  // What the request has become so far is too much.
  [[nodiscard]] bool TooLarge() const;
  [[nodiscard]] bool HasRoom(Refusals& refusals) const;  // else it is one refusal more
  void NameService(Dictionary& dictionary, std::string_view name, bool spans);

  void EncodeProfile(const profile::Batch& batch, std::size_t index, const Place& place,
                     Refusals& refusals);
  void EncodeSamples(const profile::Batch& batch, const profile::Profile& profile,
                     const Place& place, std::uint64_t type, profile::CountRule rule,
                     std::uint32_t profile_series, const LabelSet& profile_labels);
  SampleLabels LabelsOf(Dictionary& dictionary, const LabelSet& set, std::uint32_t profile_series,
                        const LabelSet& profile_labels);
  void EncodeLink(const profile::Batch& batch, const Place& place, const SampleRecord& record);
  void EncodeDetail(const profile::Batch& batch, const Place& place, const SampleRecord& record,
                    std::string_view attributes);
  void EncodeSpans(const profile::SpanBatch& batch, const std::vector<Place>& places,
                   Refusals& refusals);
  struct SpanOwner;  // what spans of one resource and scope share
  void EncodeSpan(const profile::SpanBatch& batch, const profile::Span& span,
                  const SpanOwner& owner, const Place& place);

  // A profile's own labels (parent 0), or those of samples in a profile whose series is `parent`
  // and whose labels are `wider`. 0 when the limit is reached.
  std::uint32_t InternSeries(Dictionary& dictionary, std::uint32_t parent, const LabelSet& set,
                             const LabelSet* wider);
  std::uint32_t InternStack(const profile::Batch& batch, Dictionary& dictionary, profile::Id stack);
  std::uint32_t InternFrame(const profile::Batch& batch, Dictionary& dictionary, profile::Id frame);
  std::uint32_t InternFunction(const profile::Batch& batch, Dictionary& dictionary,
                               profile::Id function);
  std::uint32_t InternMapping(const profile::Batch& batch, Dictionary& dictionary,
                              profile::Id mapping);
  void InternType(Dictionary& dictionary, std::uint64_t hash, const profile::ProfileType& type);
  Rows::Row Begin(Table table, const Dictionary& dictionary);  // with bucket, tenant and service

  Dictionaries& dictionaries_;
  EncodeOptions options_;

  // Of the request being encoded.
  RowSet* rows_ = nullptr;
  std::size_t rows_before_ = 0;     // bytes of other requests in rows_
  std::size_t most_row_bytes_ = 0;  // it may add
  std::string unlabelled_;          // its first sample whose labels went over the limit
  ContentHashes* hashes_ = nullptr;
  std::set<std::size_t> refused_;
  std::set<std::uint32_t> buckets_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> service_buckets_;

  // Ids of the request's frames in `frame_ids_of_`; 0: not looked up yet.
  const Dictionary* frame_ids_of_ = nullptr;
  std::vector<std::uint32_t> frame_ids_;
};

}  // namespace wherefore::store
