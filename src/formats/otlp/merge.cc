// Every message below a request is copied field by field; a table of rules says which fields are
// indices into the dictionary and which are messages that contain some. An entry of the dictionary
// is taken over, with everything it refers to, when the first index that means it comes by.
#include "formats/otlp/merge.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/otlp/common.h"
#include "formats/otlp/fields.h"
#include "formats/otlp/joined_dictionary.h"
#include "formats/otlp/layout.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {
namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;
constexpr auto kVarint = protozero::pbf_wire_type::varint;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

// The messages in which, or below which, there are indices.
enum Shape : std::uint8_t {
  kMappingShape,
  kLocationShape,
  kFunctionShape,
  kLinkShape,
  kStringShape,
  kAttributeShape,
  kStackShape,  // so far in the order of the tables
  kResourceProfilesShape,
  kScopeProfilesShape,
  kResourceShape,
  kScopeShape,
  kKeyValueShape,
  kValueShape,
  kArrayShape,
  kMapShape,
  kProfileShape,
  kValueTypeShape,
  kSampleShape,
  kLineShape,
  kShapes
};

struct Rule {
  enum class Kind : std::uint8_t { kCopy, kIndex, kMessage };
  Kind kind = Kind::kCopy;
  std::uint8_t target = 0;  // a DictionaryTable, or a Shape
};
using Rules = std::array<Rule, 12>;  // by field number

constexpr std::array<Rules, kShapes> MakeRules() {
  std::array<Rules, kShapes> rules;
  const auto index = [&](Shape shape, Tag tag, DictionaryTable table) {
    rules[shape][tag] = {Rule::Kind::kIndex, table};
  };
  const auto message = [&](Shape shape, Tag tag, Shape target) {
    rules[shape][tag] = {Rule::Kind::kMessage, target};
  };
  index(kMappingShape, mapping::kFilename, kStringTable);
  index(kMappingShape, mapping::kAttributes, kAttributeTable);
  index(kLocationShape, location::kMapping, kMappingTable);
  message(kLocationShape, location::kLines, kLineShape);
  index(kLocationShape, location::kAttributes, kAttributeTable);
  index(kLineShape, line::kFunction, kFunctionTable);
  index(kFunctionShape, function::kName, kStringTable);
  index(kFunctionShape, function::kSystemName, kStringTable);
  index(kFunctionShape, function::kFilename, kStringTable);
  index(kAttributeShape, table_attribute::kKey, kStringTable);
  message(kAttributeShape, table_attribute::kValue, kValueShape);
  index(kAttributeShape, table_attribute::kUnit, kStringTable);
  index(kStackShape, stack::kLocations, kLocationTable);
  message(kResourceProfilesShape, envelope::kResource, kResourceShape);
  message(kResourceProfilesShape, envelope::kScopes, kScopeProfilesShape);
  message(kScopeProfilesShape, envelope::kScope, kScopeShape);
  message(kScopeProfilesShape, envelope::kItems, kProfileShape);
  message(kResourceShape, resource::kAttributes, kKeyValueShape);
  message(kScopeShape, scope::kAttributes, kKeyValueShape);
  message(kKeyValueShape, key_value::kValue, kValueShape);
  index(kKeyValueShape, key_value::kKeyRef, kStringTable);
  message(kValueShape, any_value::kArray, kArrayShape);
  message(kValueShape, any_value::kMap, kMapShape);
  index(kValueShape, any_value::kStringRef, kStringTable);
  message(kArrayShape, value_list::kValues, kValueShape);
  message(kMapShape, value_list::kValues, kKeyValueShape);
  message(kProfileShape, profile_field::kSampleType, kValueTypeShape);
  message(kProfileShape, profile_field::kSamples, kSampleShape);
  message(kProfileShape, profile_field::kPeriodType, kValueTypeShape);
  index(kProfileShape, profile_field::kAttributes, kAttributeTable);
  index(kValueTypeShape, value_type::kType, kStringTable);
  index(kValueTypeShape, value_type::kUnit, kStringTable);
  index(kSampleShape, sample::kStack, kStackTable);
  index(kSampleShape, sample::kAttributes, kAttributeTable);
  index(kSampleShape, sample::kLink, kLinkTable);
  return rules;
}
constexpr std::array<Rules, kShapes> kRules = MakeRules();

// Whether a table's entry 0 means nothing, as it must.
bool IsNullEntry(std::string_view entry) {
  const auto zeros = [](std::string_view bytes) {
    return std::ranges::all_of(bytes, [](char c) { return c == 0; });
  };
  Pbf r = Reader(entry);
  while (r.next()) {
    if (r.wire_type() == kVarint ? r.get_uint64() != 0
                                 : r.wire_type() != kLen || !zeros(GetView(r)))
      return false;
  }
  return true;
}

// The parts of one request, as views.
struct RequestParts {
  std::array<std::vector<std::string_view>, kDictionaryTables> tables;
  std::vector<std::string_view> resources;
  std::vector<std::string_view> unknown;  // whole fields, tag included

  explicit RequestParts(std::string_view request) {
    Pbf r = Reader(request);
    for (const char* begin = request.data(); r.next(); begin = r.data().data()) {
      if (r.tag_and_type() == LenKey(envelope::kResources)) {
        resources.push_back(GetView(r));
      } else if (r.tag_and_type() == LenKey(envelope::kDictionary)) {
        ReadDictionary(r.get_message());
      } else {
        r.skip();
        unknown.emplace_back(begin, static_cast<std::size_t>(r.data().data() - begin));
      }
    }
  }

  void ReadDictionary(Pbf r) {
    while (r.next()) {
      if (r.wire_type() == kLen && r.tag() >= 1 && r.tag() <= kDictionaryTables) {
        const Tag tag = r.tag();
        tables[tag - 1].push_back(GetView(r));
      } else {
        r.skip();
      }
    }
  }

  [[nodiscard]] bool NullEntriesAreNull() const {
    for (std::uint8_t t = 0; t < kDictionaryTables; ++t) {
      if (tables[t].empty()) continue;
      const std::string_view first = tables[t].front();
      if (t == kStringTable ? !first.empty() : !IsNullEntry(first)) return false;
    }
    return true;
  }
};

// Copies the messages of one request, with the indices they have in the joined dictionary. False
// from any function: an index is outside its table, or values are nested too deeply.
class Translator {
 public:
  Translator(const RequestParts& parts, JoinedDictionary& joined) : parts_(parts), joined_(joined) {
    for (std::size_t t = 0; t < kDictionaryTables; ++t)
      new_index_[t].resize(parts.tables[t].size());
  }

  [[nodiscard]] bool Copy(Shape shape, std::string_view in, std::string& out, int depth = 0) {
    if (depth > 2 * kMaxValueDepth + 8) return false;
    Pbf r = Reader(in);
    for (const char* begin = in.data(); r.next(); begin = r.data().data()) {
      const Tag tag = r.tag();
      const Rule rule = tag < kRules[shape].size() ? kRules[shape][tag] : Rule{};
      if (rule.kind == Rule::Kind::kIndex && r.wire_type() == kVarint) {
        AppendVarint(out, VarintKey(tag));
        if (!CopyIndex(static_cast<DictionaryTable>(rule.target), GetIndex(r), out)) return false;
      } else if (rule.kind != Rule::Kind::kCopy && r.wire_type() == kLen) {
        const std::string_view content = GetView(r);
        const std::size_t field = BeginField(out, LenKey(tag));
        const bool copied =
            rule.kind == Rule::Kind::kMessage
                ? Copy(static_cast<Shape>(rule.target), content, out, depth + 1)
                : CopyIndices(static_cast<DictionaryTable>(rule.target), content, out);
        if (!copied) return false;
        EndField(out, field);
      } else {
        r.skip();
        out.append(begin, static_cast<std::size_t>(r.data().data() - begin));
      }
    }
    return true;
  }

 private:
  bool CopyIndices(DictionaryTable table, std::string_view packed, std::string& out) {
    const char* at = packed.data();
    const char* const end = at + packed.size();
    while (at != end) {
      const std::uint64_t index = protozero::decode_varint(&at, end);
      if (!CopyIndex(table, static_cast<std::uint32_t>(index), out)) return false;
    }
    return true;
  }

  bool CopyIndex(DictionaryTable table, std::uint32_t index, std::string& out) {
    if (index == 0) {
      out.push_back('\0');
      return true;
    }
    std::vector<std::uint32_t>& known = new_index_[table];
    if (index >= known.size()) return false;
    if (known[index] == 0 && !TakeOver(table, index)) return false;
    AppendVarint(out, known[index]);
    return true;
  }

  bool TakeOver(DictionaryTable table, std::uint32_t index) {
    const std::string_view entry = parts_.tables[table][index];
    if (table == kStringTable && entry.empty()) return true;  // that is index 0
    if (table == kStringTable || table == kLinkTable) {
      new_index_[table][index] = joined_.IndexOf(table, entry);
      return true;
    }
    // No table refers to itself, so each has at most one entry under way.
    std::string& copy = entry_under_way_[table];
    copy.clear();
    if (!Copy(static_cast<Shape>(table), entry, copy)) return false;
    new_index_[table][index] = joined_.IndexOf(table, copy);
    return true;
  }

  const RequestParts& parts_;
  JoinedDictionary& joined_;
  std::array<std::vector<std::uint32_t>, kDictionaryTables> new_index_;  // 0: not taken over yet
  std::array<std::string, kDictionaryTables> entry_under_way_;
};

class ProfilesMerger {
 public:
  // False: this request cannot be taken over as it is; nothing that was added may be used then.
  [[nodiscard]] bool Add(std::string_view request) {
    const RequestParts parts(request);
    if (!parts.NullEntriesAreNull() ||
        DetectLayout(request, parts.tables[kAttributeTable].size()) != Layout::kCurrent)
      return false;
    Translator translator(parts, dictionary_);
    for (const std::string_view resource : parts.resources) {
      const std::size_t field = BeginField(resources_, LenKey(envelope::kResources));
      if (!translator.Copy(kResourceProfilesShape, resource, resources_)) return false;
      EndField(resources_, field);
    }
    for (const std::string_view field : parts.unknown) resources_.append(field);
    return true;
  }

  [[nodiscard]] std::string Finish() && {
    std::string out = std::move(resources_);
    out.reserve(out.size() + dictionary_.bytes() + 16);
    AppendVarint(out, LenKey(envelope::kDictionary));
    AppendVarint(out, dictionary_.bytes());
    dictionary_.Write(out);
    return out;
  }

 private:
  std::string resources_;
  JoinedDictionary dictionary_;
};

// The same data in the form every reader takes: today's layout, sound tables.
Result<std::string> Plain(std::string_view request) {
  WHEREFORE_ASSIGN_OR_RETURN(const DecodedProfiles decoded,
                             DecodeOtlpProfiles(std::make_shared<const std::string>(request)));
  return EncodeOtlpProfiles(decoded.data);
}

// For the case that one of them cannot be taken over as it is.
Result<std::string> MergeCarefully(std::span<const std::string_view> requests) {
  ProfilesMerger merger;
  for (const std::string_view request : requests) {
    ProfilesMerger alone;
    if (alone.Add(request)) {
      (void)merger.Add(request);
      continue;
    }
    WHEREFORE_ASSIGN_OR_RETURN(const std::string plain, Plain(request));
    if (!merger.Add(plain)) return Error(Code::kCorrupt, "merge: a request that refers to nothing");
  }
  return std::move(merger).Finish();
}

Result<std::string> MergeProfiles(std::span<const std::string_view> requests) {
  ProfilesMerger merger;
  const bool all =
      std::ranges::all_of(requests, [&](std::string_view request) { return merger.Add(request); });
  return all ? std::move(merger).Finish() : MergeCarefully(requests);
}

// A field of a message that is cut: copied, or a message that is walked too.
enum class Cut : std::uint8_t { kScopes, kItems };

// Walks the scopes (or items) of a request and copies those from number `from` to `to`, with what
// is around them. What has none of its own goes to the part that begins at 0.
class Slicer {
 public:
  Slicer(Cut cut, std::size_t from, std::size_t to) : cut_(cut), from_(from), to_(to) {}

  // `level` 0: the request, 1: a resource, 2: a scope.
  bool Copy(std::string_view in, int level, std::string& out) {
    constexpr std::array<Tag, 3> kDown = {envelope::kResources, envelope::kScopes,
                                          envelope::kItems};
    const int last = cut_ == Cut::kScopes ? 1 : 2;
    bool has_any = false;
    bool kept_any = false;
    Pbf r = Reader(in);
    for (const char* begin = in.data(); r.next(); begin = r.data().data()) {
      const std::size_t before = out.size();
      bool keep = true;
      if (const Tag down = kDown[static_cast<std::size_t>(level)];
          r.tag_and_type() == LenKey(down)) {
        const std::string_view content = GetView(r);
        keep = level == last ? Take(content) : CopyBelow(down, content, level, out);
        has_any = true;
        kept_any |= keep;
        if (level != last) {
          if (!keep) out.resize(before);
          continue;
        }
      } else {
        r.skip();
      }
      if (keep) out.append(begin, static_cast<std::size_t>(r.data().data() - begin));
    }
    return has_any ? kept_any : from_ == 0;
  }
  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  bool CopyBelow(Tag tag, std::string_view content, int level, std::string& out) {
    const std::size_t field = BeginField(out, LenKey(tag));
    const bool keep = Copy(content, level + 1, out);
    EndField(out, field);
    return keep;
  }
  bool Take(std::string_view content) {
    sizes_.push_back(content.size());
    const std::size_t number = sizes_.size() - 1;
    return number >= from_ && number < to_;
  }

  const Cut cut_;
  const std::size_t from_, to_;
  std::vector<std::size_t> sizes_;
};

// The number at which the sizes before and after are nearly the same; at least one on either side.
std::size_t Middle(const std::vector<std::size_t>& sizes) {
  std::size_t all = 0;
  for (const std::size_t size : sizes) all += size;
  std::size_t before = 0;
  std::size_t at = 0;
  while (at + 1 < sizes.size() && (at == 0 || (before + sizes[at] / 2) * 2 < all)) {
    before += sizes[at++];
  }
  return at;
}

using Halves = std::array<std::string, 2>;

// None if there is only one.
std::optional<Halves> CutBetween(Cut cut, std::string_view request) {
  std::string all;
  Slicer counter(cut, 0, SIZE_MAX);
  counter.Copy(request, 0, all);
  if (counter.sizes().size() < 2) return std::nullopt;
  const std::size_t middle = Middle(counter.sizes());
  Halves halves;
  Slicer(cut, 0, middle).Copy(request, 0, halves[0]);
  Slicer(cut, middle, SIZE_MAX).Copy(request, 0, halves[1]);
  return halves;
}

// Divides the samples of each profile.
void KeepHalf(profile::Batch& batch, const std::vector<profile::Profile>& all, bool first) {
  batch.profiles.clear();
  for (profile::Profile p : all) {
    const std::uint32_t half = (p.sample_count + 1) / 2;
    if (!first) {
      p.first_sample += half;
      p.payload = {};  // it is the whole file, and in the first half
      p.payload_format = 0;
    }
    p.sample_count = first ? half : p.sample_count - half;
    if (first || p.sample_count > 0) batch.profiles.push_back(p);
  }
}

// Profiles of one scope. Counts and the CPU time they stand for stay together.
Result<Halves> CutScope(std::string_view request) {
  WHEREFORE_ASSIGN_OR_RETURN(DecodedProfiles decoded,
                             DecodeOtlpProfiles(std::make_shared<const std::string>(request)));
  profile::Batch& batch = decoded.data;
  const std::vector<profile::Profile> all = std::move(batch.profiles);
  const bool belong_together = std::ranges::any_of(all, &profile::Profile::has_cpu_sibling);
  Halves halves;
  for (const bool first : {true, false}) {
    if (all.size() > 1 && !belong_together) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      batch.profiles.assign(first ? all.begin() : middle, first ? middle : all.end());
    } else {
      KeepHalf(batch, all, first);
    }
    if (batch.profiles.empty()) return Error(Code::kLimit, "a single sample cannot be divided");
    const std::string half = EncodeOtlpProfiles(batch);
    const std::string_view view = half;
    WHEREFORE_ASSIGN_OR_RETURN(halves[first ? 0 : 1], MergeProfiles({&view, 1}));
  }
  return halves;
}

Result<Halves> HalveProfiles(std::string_view request) {
  // Slicing needs no table, but what is left of them afterwards does.
  auto cut = CutBetween(Cut::kScopes, request);
  if (!cut) return CutScope(request);
  Halves halves;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view view = (*cut)[i];
    WHEREFORE_ASSIGN_OR_RETURN(halves[i], MergeProfiles({&view, 1}));
  }
  return halves;
}

// Broken protobuf makes protozero throw.
template <typename T, typename Work>
Result<T> Catching(Work work) {
  try {
    return work();
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("OTLP request: {}", e.what()));
  }
}

}  // namespace

Result<std::string> MergeOtlp(Signal signal, std::span<const std::string_view> requests) {
  std::size_t bytes = 0;
  for (const std::string_view request : requests) bytes += request.size();
  if (bytes > kMostBytes) return Error(Code::kLimit, "merge: more than 2 GiB");
  if (requests.size() == 1) return std::string(requests[0]);
  if (signal == Signal::kProfiles)
    return Catching<std::string>([&] { return MergeProfiles(requests); });
  std::string all;
  all.reserve(bytes);
  for (const std::string_view request : requests) all.append(request);
  return all;
}

bool HasTodaysLayout(std::string_view profiles_request) {
  const auto layout = Catching<Layout>([&]() -> Result<Layout> {
    const RequestParts parts(profiles_request);
    return DetectLayout(profiles_request, parts.tables[kAttributeTable].size());
  });
  return layout && *layout == Layout::kCurrent;
}

Result<std::array<std::string, 2>> HalveOtlp(Signal signal, std::string_view request) {
  if (request.size() > kMostBytes) return Error(Code::kLimit, "halve: more than 2 GiB");
  return Catching<Halves>([&]() -> Result<Halves> {
    if (signal == Signal::kProfiles) return HalveProfiles(request);
    auto halves = CutBetween(Cut::kItems, request);
    if (!halves) return Error(Code::kLimit, "a single span cannot be divided");
    return *std::move(halves);
  });
}

}  // namespace wherefore::formats
