// BatchAssembler: stored rows of one dictionary after the other, copied into the tables of a Batch.
//
// Names are added once. Belongs to one query and one thread; the Batch must outlive it. What the
// Batch grows to is charged to the query's memory (Count); what was lost with a damaged part of
// the disk gets the name profile::kNameLost.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "profile/typed_attributes.h"
#include "query/frame_lines.h"
#include "store/read.h"

namespace wherefore::query {

class BatchAssembler {
 public:
  using Id = profile::Id;
  using Batch = profile::Batch;
  using AttributePlace = profile::AttributePlace;
  using TypedAttribute = profile::TypedAttribute;

  // With a symbolizer frames get the lines it knows; without, they stay as they came in.
  BatchAssembler(Batch& batch, symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      : batch_(batch), symbolizer_(symbolizer), cancel_(cancel), claim_(cancel) {}

  // The dictionary that ids belong to from now on: read if it is another than before, or as the
  // caller has read it.
  Result<> Open(store::Reader& reader, const store::DictionaryKey& key);
  void Open(const store::DictionaryKey& key, store::DictionaryRows rows,
            std::vector<store::SeriesRow> series);

  Result<Id> Stack(std::uint32_t stack);

  // Every mapping in stored order: the first one is the main program.
  Result<> AllMappings();

  const store::SeriesRow* Series(std::uint32_t series) const;
  // The profile-level set of a series.
  const store::SeriesRow* Owner(std::uint32_t series) const;

  // Resource and scope of a profile, shared between profiles with the same series and extras.
  Result<std::pair<Id, Id>> Owners(std::uint32_t series, const std::string& extra);

  // Attributes of one place out of encoded lists, as references into the dictionary's table.
  Result<profile::Range> Refs(AttributePlace place, std::initializer_list<std::string_view> lists);

  // Counts what the batch has grown to, twice: its encoded form comes next.
  Result<> Count();

  // Adds the strings that are written inline: after all that are referred to by index, so that a
  // dictionary holds none of them. Call once, at the end.
  void Finish();

  // The first part of the last profile's type id; no wire format has a place for it.
  void NameProfile(std::string_view name);

  Id Text(std::string_view text);

  Id Link(const profile::TraceId& trace, const profile::SpanId& span);

 private:
  // An attribute of the dictionary's table: key and unit by index, the value inline.
  void AddReferred(const TypedAttribute& a);
  // An attribute of a resource or scope: all of it inline.
  void AddInline(const TypedAttribute& a);
  // A text of the resource or scope that is about to be added.
  void Later(std::string_view text, Id profile::Resource::* field);
  void Later(std::string_view text, Id profile::Scope::* field);

  Result<Id> Mapping(std::uint32_t id);

  Result<Id> Function(std::uint32_t id);

  Id Function(const symbols::ResolvedLine& line);

  Result<std::vector<profile::Line>> Lines(std::uint32_t frame);

  // What was lost with a part of the disk: one frame, one stack, for all of it.
  Id LostFrame();
  Id LostStack();

  Result<Id> Frame(std::uint32_t id);

  Batch& batch_;
  symbols::Symbolizer* const symbolizer_;
  const CancelToken& cancel_;
  MemoryClaim claim_;
  std::size_t text_bytes_ = 0;
  std::size_t dictionary_bytes_ = 0;  // charged for rows_ and series_
  bool opened_ = false;
  store::DictionaryKey key_;
  store::DictionaryRows rows_;
  FrameLines resolved_;
  std::vector<store::SeriesRow> series_;
  std::vector<Id> mappings_, functions_, frames_, stacks_;  // stored id -> id in the batch
  std::map<std::pair<std::uint32_t, std::string>, std::pair<Id, Id>> resources_;
  std::map<std::tuple<Id, Id, Id, std::int64_t>, Id> resolved_functions_;
  Id lost_frame_ = 0;
  Id lost_stack_ = 0;
  std::unordered_map<std::string, Id> attributes_;
  std::unordered_map<std::string, Id> texts_;
  std::map<std::pair<profile::TraceId, profile::SpanId>, Id> links_;
  std::vector<std::pair<std::string, std::function<Id*(Batch&)>>> later_;
};

}  // namespace wherefore::query
