// Merged and divided requests say what their parts said, by the protobuf library's reading.
#include "formats/otlp/merge.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "formats/testing.h"

namespace wherefore::formats {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::Random;
using testing::otlp::ProfilesData;
using testing::otlp::ProfilesDictionary;
using testing::trace::TracesData;

// What a message says, as text in which every index is replaced by what it stands for.
class Resolved {
 public:
  explicit Resolved(const ProfilesDictionary& dictionary) : dictionary_(dictionary) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the message
  std::string Text(const Message& message) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    std::string out = "{";
    for (const FieldDescriptor* field : fields) {
      out += field->name() + ":";
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) out += OneValue(message, *field, i) + ",";
    }
    std::string unknown;
    reflection.GetUnknownFields(message).SerializeToString(&unknown);
    return out + unknown + "}";
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  std::string OneValue(const Message& message, const FieldDescriptor& field, int i) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Text(field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, i)
                                      : reflection.GetMessage(message, &field));
    }
    const std::string& name = field.name();
    if (name.ends_with("_strindex") || name.ends_with("_index") || name.ends_with("_indices")) {
      return Entry(name, field.is_repeated() ? reflection.GetRepeatedInt32(message, &field, i)
                                             : reflection.GetInt32(message, &field));
    }
    std::string out;
    google::protobuf::TextFormat::PrintFieldValueToString(message, &field,
                                                          field.is_repeated() ? i : -1, &out);
    return out;
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  const std::string& Entry(const std::string& field, int index) {
    const std::string table = field.substr(0, field.rfind('_'));
    auto [known, fresh] = entries_.try_emplace({table, index});
    if (!fresh) return known->second;
    const auto text = [&](const auto& entries) {
      return index == 0 ? "" : Text(entries.at(index));
    };
    std::string content;
    if (field.ends_with("_strindex"))
      content = dictionary_.string_table().at(index);
    else if (table == "stack")
      content = text(dictionary_.stack_table());
    else if (table == "location")
      content = text(dictionary_.location_table());
    else if (table == "function")
      content = text(dictionary_.function_table());
    else if (table == "mapping")
      content = text(dictionary_.mapping_table());
    else if (table == "attribute")
      content = text(dictionary_.attribute_table());
    else if (table == "link")
      content = text(dictionary_.link_table());
    else
      ADD_FAILURE() << field;
    const Hash128 hash = HashString(content);  // keeps the texts of stacks short
    known->second = std::to_string(hash.low) + std::to_string(hash.high);
    return known->second;
  }

  const ProfilesDictionary& dictionary_;
  std::map<std::pair<std::string, int>, std::string> entries_;
};

std::vector<std::string> Says(const std::string& request) {
  ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(request));
  Resolved resolved(data.dictionary());
  std::vector<std::string> resources;
  for (const auto& resource : data.resource_profiles())
    resources.push_back(resolved.Text(resource));
  return resources;
}

std::vector<std::string> SaysTogether(const std::vector<std::string>& requests) {
  std::vector<std::string> all;
  for (const std::string& request : requests) {
    for (std::string& text : Says(request)) all.push_back(std::move(text));
  }
  return all;
}

Result<std::string> Merge(const std::vector<std::string>& requests,
                          Signal signal = Signal::kProfiles) {
  return MergeOtlp(signal, std::vector<std::string_view>(requests.begin(), requests.end()));
}

// Now and then a field that our .proto files do not know.
void AddUnknownFields(Random& random, ProfilesData& data) {
  const auto add = [&](Message* message) {
    if (!random.OneIn(8)) return;
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(77, random.Bits());
    message->GetReflection()->MutableUnknownFields(message)->AddLengthDelimited(2000, "later");
  };
  for (auto& stack : *data.mutable_dictionary()->mutable_stack_table()) {
    if (&stack != &data.dictionary().stack_table(0)) add(&stack);
  }
  for (auto& rp : *data.mutable_resource_profiles()) {
    add(&rp);
    for (auto& sp : *rp.mutable_scope_profiles()) {
      for (auto& p : *sp.mutable_profiles()) {
        add(&p);
        for (auto& s : *p.mutable_samples()) add(&s);
      }
    }
  }
}

TEST(MergeOtlp, TenThousandRandomMergesSayTheSame) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    std::vector<std::string> requests;
    for (int i = random.Below(3); i >= -1; --i) {
      // Few seeds, so that requests have much in common.
      ProfilesData data = testing::RandomProfiles(
          seed % 500 + static_cast<unsigned>(random.Below(3)), random.OneIn(2));
      AddUnknownFields(random, data);
      requests.push_back(data.SerializeAsString());
    }
    const auto merged = Merge(requests);
    ASSERT_TRUE(merged) << seed << ": " << merged.error().message();
    ASSERT_EQ(Says(*merged), SaysTogether(requests)) << seed;
    ASSERT_EQ(*Merge(requests), *merged) << seed;
    ASSERT_TRUE(CheckOtlpProfiles(*merged).empty() || !CheckOtlpProfiles(requests[0]).empty() ||
                !CheckOtlpProfiles(requests[1]).empty() || requests.size() > 2)
        << seed << ": " << CheckOtlpProfiles(*merged).front().text;
  }
}

TEST(MergeOtlp, EqualEntriesAreThereOnce) {
  const std::string request = testing::RandomProfiles(7, true).SerializeAsString();
  const auto once = Merge({request, request});
  const auto often = Merge(std::vector<std::string>(50, request));
  ASSERT_TRUE(once && often);
  ProfilesData two;
  ProfilesData fifty;
  ASSERT_TRUE(two.ParseFromString(*once) && fifty.ParseFromString(*often));
  EXPECT_EQ(two.dictionary().SerializeAsString(), fifty.dictionary().SerializeAsString());
  EXPECT_EQ(fifty.resource_profiles_size(), 25 * two.resource_profiles_size());
}

TEST(MergeOtlp, ASingleRequestKeepsItsBytes) {
  EXPECT_EQ(*Merge({"any bytes"}), "any bytes");
}

// A request that cannot be taken over as it is becomes what the decoder makes of it.
TEST(MergeOtlp, OddTablesAreReadAsTheDecoderReadsThem) {
  const std::string good = testing::RandomProfiles(3, false).SerializeAsString();
  for (const bool unset_function : {true, false}) {
    ProfilesData odd = testing::RandomProfiles(4, false);
    if (unset_function) {
      auto* location = odd.mutable_dictionary()->add_location_table();
      location->add_lines()->set_function_index(-1);
      odd.mutable_dictionary()->add_stack_table()->add_location_indices(
          odd.dictionary().location_table_size() - 1);
      auto* sample = odd.mutable_resource_profiles(0)
                         ->mutable_scope_profiles(0)
                         ->mutable_profiles(0)
                         ->add_samples();
      sample->set_stack_index(odd.dictionary().stack_table_size() - 1);
      sample->set_link_index(0);
      sample->add_values(1);
      sample->add_timestamps_unix_nano(5);
    } else {
      odd.mutable_dictionary()->mutable_mapping_table(0)->set_memory_start(77);
    }
    const auto decoded = DecodeOtlpProfiles(testing::Shared(odd.SerializeAsString()));
    ASSERT_TRUE(decoded);
    const auto merged = Merge({good, odd.SerializeAsString(), good});
    ASSERT_TRUE(merged);
    EXPECT_EQ(Says(*merged), SaysTogether({good, EncodeOtlpProfiles(decoded->data), good}));
  }
}

TEST(MergeOtlp, BrokenBytesAreAnError) {
  const std::string good = testing::RandomProfiles(3, false).SerializeAsString();
  const auto merged = Merge({good, good.substr(0, good.size() - 1)});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), Code::kCorrupt);
}

TEST(MergeOtlp, TracesAreAppended) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    TracesData a = testing::RandomTraces(seed);
    const TracesData b = testing::RandomTraces(seed + 1000);
    const auto merged = Merge({a.SerializeAsString(), b.SerializeAsString()}, Signal::kTraces);
    a.MergeFrom(b);
    TracesData both;
    ASSERT_TRUE(both.ParseFromString(*merged));
    ASSERT_EQ(testing::Differences(a, both), "");
  }
}

// Sum of values and number of samples of each type, the way they stand for CPU time.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> Totals(
    const std::vector<std::string>& requests) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> totals;
  for (const std::string& request : requests) {
    const auto decoded = DecodeOtlpProfiles(testing::Shared(request));
    EXPECT_TRUE(decoded) << decoded.error().message();
    const profile::Batch& batch = decoded->data;
    for (const profile::Profile& p : batch.profiles) {
      auto& [value, samples] =
          totals[std::string(batch.Text(p.sample_type.type)) + (p.has_cpu_sibling ? " too" : "")];
      for (std::uint32_t i = 0; i < p.sample_count; ++i)
        value += batch.samples.value[p.first_sample + i] % 1000;
      samples += p.sample_count;
    }
  }
  return totals;
}

TEST(HalveOtlp, HalvesTogetherSayTheSame) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const ProfilesData data = testing::RandomProfiles(seed, true);
    const std::string request = data.SerializeAsString();
    const auto halves = HalveOtlp(Signal::kProfiles, request);
    if (!halves) {
      EXPECT_EQ(halves.error().code(), Code::kLimit);
      continue;
    }
    ASSERT_EQ(Totals({(*halves)[0], (*halves)[1]}), Totals({request})) << seed;
    ASSERT_EQ(*HalveOtlp(Signal::kProfiles, request), *halves) << seed;
  }
}

TEST(HalveOtlp, ALargeProfileIsHalvedUntilItFits) {
  ProfilesData data = testing::RandomProfiles(11, false);
  data.clear_resource_profiles();
  auto* scope = data.add_resource_profiles()->add_scope_profiles();
  auto* d = data.mutable_dictionary();
  const int type = d->string_table_size();
  for (const char* text : {"samples", "count", "cpu", "nanoseconds"}) d->add_string_table(text);
  for (int p = 0; p < 2; ++p) {
    auto* profile = scope->add_profiles();
    profile->mutable_sample_type()->set_type_strindex(type + 2 * p);
    profile->mutable_sample_type()->set_unit_strindex(type + 2 * p + 1);
    for (int i = 0; i < 1000; ++i) {
      auto* sample = profile->add_samples();
      sample->set_stack_index(d->stack_table_size());
      d->add_stack_table()->add_location_indices(0);
      d->mutable_stack_table(d->stack_table_size() - 1)->add_location_indices(i);
      d->add_location_table()->set_address(static_cast<std::uint64_t>(p * 1000 + i));
      sample->add_values(i);
    }
  }
  const std::string whole = data.SerializeAsString();
  std::vector<std::string> open = {whole};
  std::vector<std::string> small;
  while (!open.empty()) {
    const std::string request = std::move(open.back());
    open.pop_back();
    if (request.size() <= whole.size() / 20) {
      small.push_back(request);
      continue;
    }
    auto halves = HalveOtlp(Signal::kProfiles, request);
    ASSERT_TRUE(halves) << halves.error().message();
    for (std::string& half : *halves) {
      ASSERT_LT(half.size(), request.size() * 3 / 4);
      open.push_back(std::move(half));
    }
  }
  EXPECT_GE(small.size(), 16u);
  EXPECT_EQ(Totals(small), Totals({whole})) << "counts still know that CPU time came with them";
}

TEST(HalveOtlp, SpansAreDividedOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const TracesData data = testing::RandomTraces(seed);
    const auto halves = HalveOtlp(Signal::kTraces, data.SerializeAsString());
    std::vector<std::string> spans;
    std::vector<std::string> expected;
    const auto collect = [](const TracesData& from, std::vector<std::string>& to) {
      for (const auto& rs : from.resource_spans())
        for (const auto& ss : rs.scope_spans())
          for (const auto& span : ss.spans())
            to.push_back(rs.resource().SerializeAsString() + ss.scope().SerializeAsString() +
                         span.SerializeAsString());
    };
    collect(data, expected);
    if (!halves) {
      EXPECT_EQ(expected.size(), 1u);
      continue;
    }
    for (const std::string& half : *halves) {
      TracesData part;
      ASSERT_TRUE(part.ParseFromString(half));
      collect(part, spans);
    }
    ASSERT_EQ(spans, expected) << seed;
  }
}

}  // namespace
}  // namespace wherefore::formats
