#include "query/export.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/frame_name.h"
#include "profile/observations.h"
#include "profile/typed_attributes.h"
#include "query/batch_assembler.h"
#include "query/dictionary_portions.h"

namespace wherefore::query {
namespace {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;

void SetType(BatchAssembler& assembler, profile::Profile& p, const profile::ProfileType& type) {
  p.sample_type = {assembler.Text(type.sample_type), assembler.Text(type.sample_unit)};
  p.period_type = {assembler.Text(type.period_type), assembler.Text(type.period_unit)};
  p.period = type.period;
  p.has_cpu_sibling = !type.stands_for_cpu;
}

Result<> AddStored(BatchAssembler& assembler, Batch& batch, store::Reader& reader,
                   const store::ProfileRow& row, const profile::ProfileType& type,
                   const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  WHEREFORE_RETURN_IF_ERROR(assembler.Open(reader, row.dictionary));
  WHEREFORE_RETURN_IF_ERROR(assembler.AllMappings());
  std::vector<store::SampleRow> samples;
  {
    const MemoryScope scope(cancel);  // gone after this profile
    WHEREFORE_ASSIGN_OR_RETURN(samples, reader.ProfileSamples(row, cancel));
  }
  profile::Profile p;
  SetType(assembler, p, type);
  WHEREFORE_ASSIGN_OR_RETURN(const auto owners, assembler.Owners(row.series, row.attributes));
  p.resource = owners.first;
  p.scope = owners.second;
  const store::SeriesRow* owner = assembler.Owner(row.series);
  WHEREFORE_ASSIGN_OR_RETURN(
      p.attributes,
      assembler.Refs(AttributePlace::kProfile,
                     {owner != nullptr ? std::string_view(owner->encoded) : std::string_view(),
                      std::string_view(row.attributes)}));
  p.time_ns = static_cast<std::uint64_t>(row.time_ns);
  p.duration_ns = static_cast<std::uint64_t>(row.duration_ns);
  p.id = row.id;
  p.first_sample = static_cast<std::uint32_t>(batch.samples.size());
  p.sample_count = static_cast<std::uint32_t>(samples.size());
  for (const store::SampleRow& s : samples) {
    WHEREFORE_ASSIGN_OR_RETURN(const Id stack, assembler.Stack(s.stack));
    const store::SeriesRow* own = s.series != row.series ? assembler.Series(s.series) : nullptr;
    WHEREFORE_ASSIGN_OR_RETURN(
        const profile::Range attributes,
        assembler.Refs(AttributePlace::kSample,
                       {own != nullptr ? std::string_view(own->encoded) : std::string_view(),
                        std::string_view(s.attributes)}));
    profile::Range times{static_cast<std::uint32_t>(batch.times.size()),
                         static_cast<std::uint32_t>(s.times.size())};
    batch.times.insert(batch.times.end(), s.times.begin(), s.times.end());
    profile::Range values{static_cast<std::uint32_t>(batch.values.size()),
                          static_cast<std::uint32_t>(s.values.size())};
    batch.values.insert(batch.values.end(), s.values.begin(), s.values.end());
    if (s.times.empty() && s.values.empty()) {
      values.count = 1;
      batch.values.push_back(s.value);
    }
    batch.samples.Append(stack, attributes, assembler.Link(s.trace, s.span), s.value, times,
                         values);
    const std::int64_t count =
        type.count_rule == profile::CountRule::kStored
            ? s.count
            : profile::ImpliedObservations(batch, p, batch.samples.size() - 1);
    batch.samples.count.push_back(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, UINT32_MAX)));
  }
  batch.profiles.push_back(p);
  assembler.NameProfile(type.name);
  return assembler.Count();
}

// The CPU time that counts stand for, as a type of its own.
profile::ProfileType CpuOf(const profile::ProfileType& counts) {
  profile::ProfileType cpu = counts;
  cpu.sample_type = counts.period_type;
  cpu.sample_unit = counts.period_unit;
  cpu.stands_for_cpu = false;
  return cpu;
}

// pprof shows the last type of a file first, so the one that was asked for goes there; counts of
// samples come before what they count, as Go's own files have it.
std::vector<profile::ProfileType> InFileOrder(
    const std::map<std::string, profile::ProfileType>& types, std::string_view wanted) {
  std::vector<profile::ProfileType> out;
  out.reserve(types.size());
  for (const auto& [id, type] : types) out.push_back(type);
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const profile::ProfileType& t) {
      if (t.sample_type == "samples" && wanted != "samples") return 0;
      return profile::MatchType(t, wanted) ? 2 : 1;
    };
    return rank(a) < rank(b);
  });
  return out;
}

// Sums of a selection as columns of one pprof file: the same rows in the same order for every type.
class MergedSums {
 public:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // selection, stack, series
  struct Time {
    std::int64_t first_ns = INT64_MAX;  // start of the first profile
    std::int64_t duration_ns = 0;       // of all of them together
  };

  explicit MergedSums(const Resolved& resolved) : resolved_(resolved) {
    for (const auto& [hash, use] : resolved.types)
      types_.try_emplace(use.details.Id(), use.details);
  }

  Result<> Add(const std::vector<store::StackSumBySeries>& sums,
               const std::vector<store::ProfileRow>& profiles, const CancelToken& cancel) {
    for (const store::StackSumBySeries& s : sums) keys_.try_emplace(KeyOf(s), 0);
    constexpr std::size_t kKeyBytes = sizeof(Key) + 96;  // a node of the map, and a row
    WHEREFORE_RETURN_IF_ERROR(
        cancel.Charge(keys_.size() * (kKeyBytes + types_.size() * sizeof(std::int64_t))));
    std::size_t next = 0;
    for (auto& [key, index] : keys_) index = next++;
    for (const store::ProfileRow& p : profiles) {
      Time& time = times_[resolved_.types.at(p.type).details.Id()];
      time.first_ns = std::min(time.first_ns, p.time_ns);
      time.duration_ns += p.duration_ns;
    }
    for (const store::StackSumBySeries& s : sums) AddSum(s);
    return {};
  }

  [[nodiscard]] const std::map<Key, std::size_t>& keys() const { return keys_; }
  [[nodiscard]] const std::map<std::string, profile::ProfileType>& types() const { return types_; }
  // Null: no profile of this type.
  [[nodiscard]] const Time* TimeOf(const std::string& type_id) const {
    const auto found = times_.find(type_id);
    return found == times_.end() ? nullptr : &found->second;
  }
  // A value per row.
  [[nodiscard]] const std::vector<std::int64_t>& Column(const std::string& type_id) {
    std::vector<std::int64_t>& column = columns_[type_id];
    column.resize(keys_.size());
    return column;
  }

 private:
  static Key KeyOf(const store::StackSumBySeries& s) {
    return {s.sum.dictionary, s.sum.stack, s.series};
  }

  void AddSum(const store::StackSumBySeries& s) {
    const profile::ProfileType& type = resolved_.types.at(s.sum.type).details;
    AddTo(type.Id(), s, s.sum.value);
    if (!type.stands_for_cpu) return;
    // Counts of different periods can only be added up as time.
    const profile::ProfileType cpu = CpuOf(type);
    types_.try_emplace(cpu.Id(), cpu);
    times_.try_emplace(cpu.Id(), times_[type.Id()]);
    AddTo(cpu.Id(), s, SaturatingMultiply(s.sum.value, type.period));
  }

  void AddTo(const std::string& type_id, const store::StackSumBySeries& s, std::int64_t value) {
    std::vector<std::int64_t>& column = columns_[type_id];
    column.resize(keys_.size());
    std::int64_t& cell = column[keys_.at(KeyOf(s))];
    cell = SaturatingAdd(cell, value);
  }

  const Resolved& resolved_;
  std::map<Key, std::size_t> keys_;                    // row by key
  std::map<std::string, profile::ProfileType> types_;  // this and the next two: by five-part id
  std::map<std::string, Time> times_;
  std::map<std::string, std::vector<std::int64_t>> columns_;
};

// Stack and attributes of a row.
using MergedRow = std::pair<Id, profile::Range>;

std::string_view EncodedOf(const store::SeriesRow* series) {
  return series != nullptr ? std::string_view(series->encoded) : std::string_view();
}

// What all types share: their rows, and whose they are.
class SharedRows {
 public:
  SharedRows(QueryContext& context, const Resolved& resolved, const MergedSums& sums,
             BatchAssembler& assembler)
      : context_(context), resolved_(resolved), sums_(sums), assembler_(assembler) {}

  Result<> Assemble(const CancelToken& cancel) {
    rows_.resize(sums_.keys().size());
    std::vector<std::uint32_t> selections;
    std::vector<store::DictionaryKey> dictionaries;
    for (const auto& [key, index] : sums_.keys()) {
      if (!selections.empty() && selections.back() == std::get<0>(key)) continue;
      selections.push_back(std::get<0>(key));
      dictionaries.push_back(resolved_.query.selections[selections.back()].dictionary);
    }
    WHEREFORE_ASSIGN_OR_RETURN(const auto portions,
                               PortionsOf(context_.reader, dictionaries, kAnyFrames, cancel));
    for (const Portion& portion : portions) {
      const MemoryScope scope(cancel);  // what is read of the store goes; the batch counts itself
      MemoryClaim held(cancel);
      WHEREFORE_ASSIGN_OR_RETURN(auto names,
                                 ReadPortion(context_.reader, dictionaries, portion, held, cancel));
      WHEREFORE_ASSIGN_OR_RETURN(
          auto series, context_.reader.SeriesOf(KeysOf(dictionaries, portion),
                                                store::Reader::SeriesParts::kEncodedToo, cancel));
      for (const std::size_t i : portion) {
        const store::DictionaryKey& key = dictionaries[i];
        assembler_.Open(key, std::move(names[key]), std::move(series[key]));
        WHEREFORE_RETURN_IF_ERROR(AddSelection(selections[i]));
      }
    }
    return {};
  }

  [[nodiscard]] const std::vector<MergedRow>& rows() const { return rows_; }
  // A profile with their owner.
  [[nodiscard]] const profile::Profile& profile() const { return profile_; }

 private:
  Result<> AddSelection(std::uint32_t selection) {
    constexpr std::size_t kCountEvery = 1024;
    for (auto it = sums_.keys().lower_bound({selection, 0, 0});
         it != sums_.keys().end() && std::get<0>(it->first) == selection; ++it) {
      const auto [selected, stack, series] = it->first;
      MergedRow& row = rows_[it->second];
      if (it->second % kCountEvery == 0) WHEREFORE_RETURN_IF_ERROR(assembler_.Count());
      if (it->second == 0) WHEREFORE_RETURN_IF_ERROR(TakeOwner(series));
      WHEREFORE_ASSIGN_OR_RETURN(row.first, assembler_.Stack(stack));
      const store::SeriesRow* own = assembler_.Series(series);
      if (own != nullptr && own->parent == 0) own = nullptr;  // a profile's labels, not a sample's
      WHEREFORE_ASSIGN_OR_RETURN(row.second,
                                 assembler_.Refs(AttributePlace::kSample, {EncodedOf(own)}));
    }
    return {};
  }
  Result<> TakeOwner(std::uint32_t series) {
    WHEREFORE_RETURN_IF_ERROR(assembler_.AllMappings());
    WHEREFORE_ASSIGN_OR_RETURN(const auto owners, assembler_.Owners(series, {}));
    profile_.resource = owners.first;
    profile_.scope = owners.second;
    WHEREFORE_ASSIGN_OR_RETURN(
        profile_.attributes,
        assembler_.Refs(AttributePlace::kProfile, {EncodedOf(assembler_.Owner(series))}));
    return {};
  }

  QueryContext& context_;
  const Resolved& resolved_;
  const MergedSums& sums_;
  BatchAssembler& assembler_;
  std::vector<MergedRow> rows_;
  profile::Profile profile_;
};

void AddColumn(Batch& batch, profile::Profile p, const std::vector<MergedRow>& rows,
               const std::vector<std::int64_t>& column) {
  p.first_sample = static_cast<std::uint32_t>(batch.samples.size());
  p.sample_count = static_cast<std::uint32_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const profile::Range value{static_cast<std::uint32_t>(batch.values.size()), 1};
    batch.values.push_back(column[i]);
    batch.samples.Append(rows[i].first, rows[i].second, 0, column[i], {}, value);
  }
  batch.profiles.push_back(p);
}

}  // namespace

Result<std::vector<store::ProfileRow>> Profiles(QueryContext& context, const Selection& selection,
                                                std::size_t limit, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, context.catalog.Resolve(selection, {}, cancel));
  if (r.query.selections.empty()) return std::vector<store::ProfileRow>{};
  return context.reader.Profiles(r.query, limit, cancel);
}

Result<Batch> StoredProfile(QueryContext& context, std::uint32_t tenant,
                            const profile::ProfileId& id, const CancelToken& cancel) {
  if (id == profile::ProfileId{}) {
    return Error(Code::kNotFound,
                 "the id of all zeros stands for profiles that were sent without one");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.ProfileById(tenant, id, cancel));
  if (rows.empty()) return Error(Code::kNotFound, "no stored profile has the id " + ToHex(id));
  Batch batch;
  BatchAssembler assembler(batch, nullptr, cancel);
  for (const store::ProfileRow& row : rows) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.Types({row.dictionary}, cancel));
    for (const store::TypeRow& t : types) {
      if (t.type != row.type) continue;
      WHEREFORE_RETURN_IF_ERROR(
          AddStored(assembler, batch, context.reader, row, t.details, cancel));
      WHEREFORE_ASSIGN_OR_RETURN(const store::Payload payload,
                                 context.reader.OriginalPayload(row, cancel));
      if (!payload.bytes->empty()) {
        batch.profiles.back().payload = *payload.bytes;
        batch.Own(payload.bytes);
        batch.profiles.back().payload_format = batch.AddText(payload.format);
      }
      break;
    }
  }
  assembler.Finish();
  return batch;
}

Result<Batch> StoredProfiles(QueryContext& context, const Selection& selection, std::size_t limit,
                             const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      Resolved r, context.catalog.Resolve(selection, {.all_types_of_family = true}, cancel));
  Batch batch;
  if (r.query.selections.empty()) {
    return Error(Code::kNotFound, context.catalog.ExplainEmpty(selection, cancel));
  }
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, context.reader.Profiles(r.query, limit, cancel));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.dictionary < b.dictionary; });
  BatchAssembler assembler(batch, nullptr, cancel);
  for (const store::ProfileRow& row : rows) {
    WHEREFORE_RETURN_IF_ERROR(
        AddStored(assembler, batch, context.reader, row, r.types.at(row.type).details, cancel));
  }
  assembler.Finish();
  return batch;
}

Result<Batch> Merged(QueryContext& context, const Selection& selection, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const Resolved r, context.catalog.Resolve(selection, {.all_types_of_family = true}, cancel));
  if (r.query.selections.empty()) {
    return Error(Code::kNotFound, context.catalog.ExplainEmpty(selection, cancel));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto stacks, context.reader.SumStacksBySeries(r.query, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto profiles, context.reader.Profiles(r.query, 0, cancel));
  if (stacks.empty() && profiles.empty()) {
    return Error(Code::kNotFound, context.catalog.ExplainEmpty(selection, cancel));
  }
  MergedSums sums(r);
  WHEREFORE_RETURN_IF_ERROR(sums.Add(stacks, profiles, cancel));
  Batch batch;
  BatchAssembler assembler(batch, context.symbolizer, cancel);
  SharedRows shared(context, r, sums, assembler);
  WHEREFORE_RETURN_IF_ERROR(shared.Assemble(cancel));
  for (const profile::ProfileType& type : InFileOrder(sums.types(), r.type)) {
    const MergedSums::Time* const time = sums.TimeOf(type.Id());
    if (time == nullptr) continue;
    profile::Profile p = shared.profile();
    SetType(assembler, p, type);
    p.has_cpu_sibling = sums.types().size() > 1;
    p.time_ns = static_cast<std::uint64_t>(time->first_ns);
    p.duration_ns = static_cast<std::uint64_t>(time->duration_ns);
    AddColumn(batch, p, shared.rows(), sums.Column(type.Id()));
    assembler.NameProfile(type.name);
    WHEREFORE_RETURN_IF_ERROR(assembler.Count());
  }
  assembler.Finish();
  return batch;
}

}  // namespace wherefore::query
