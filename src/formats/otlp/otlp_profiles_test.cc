#include <set>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/otlp/fields.h"
#include "formats/otlp/merge.h"
#include "formats/testing.h"
#include "formats/wire/protobuf.h"
#include "profile/type_id.h"

namespace wherefore::formats {
namespace {

using testing::Shared;
using testing::WithoutUnusedStrings;
using testing::otlp::ProfilesData;

DecodedProfiles MustDecode(const ProfilesData& data) {
  auto decoded = DecodeOtlpProfiles(Shared(data.SerializeAsString()));
  EXPECT_TRUE(decoded) << decoded.error().message();
  EXPECT_TRUE(decoded->data.Validate());
  return std::move(*decoded);
}

ProfilesData Parse(const std::string& bytes) {
  ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(bytes));
  return data;
}

// The smallest message with two profiles: profile 0 uses stack 1, profile 1 uses stack 2.
ProfilesData TwoProfiles() {
  ProfilesData data;
  auto* d = data.mutable_dictionary();
  for (const char* s : {"", "samples", "count", "main", "work", "thread.name"})
    d->add_string_table(s);
  d->add_mapping_table();
  d->add_link_table();
  d->add_attribute_table();
  d->add_function_table();
  d->add_function_table()->set_name_strindex(3);
  d->add_function_table()->set_name_strindex(4);
  d->add_location_table();
  d->add_location_table()->add_lines()->set_function_index(1);
  d->add_location_table()->add_lines()->set_function_index(2);
  d->add_stack_table();
  d->add_stack_table()->add_location_indices(1);
  d->add_stack_table()->add_location_indices(2);
  auto* sp = data.add_resource_profiles()->add_scope_profiles();
  for (int i = 0; i < 2; ++i) {
    auto* p = sp->add_profiles();
    p->mutable_sample_type()->set_type_strindex(1);
    p->mutable_sample_type()->set_unit_strindex(2);
    auto* s = p->add_samples();
    s->set_stack_index(i + 1);
    s->add_values(7 + i);
  }
  return data;
}

// Only profile 0 is left, and the message names the place.
void ExpectSecondRejected(const ProfilesData& data, std::string_view reason) {
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 1U);
  ASSERT_EQ(decoded.data.profiles.size(), 1U);
  EXPECT_EQ(decoded.data.samples.size(), 1U);
  EXPECT_EQ(decoded.data.samples.value[0], 7);
  EXPECT_NE(decoded.message.find(reason), std::string::npos) << decoded.message;
}

TEST(OtlpProfiles, DecodesTheGoldenVector) {
  const std::string bytes = testing::ReadFile("tests/golden/vector.otlp");
  ASSERT_EQ(bytes.size(), 215U);
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_TRUE(decoded) << decoded.error().message();
  const profile::Batch& b = decoded->data;
  ASSERT_TRUE(b.Validate());
  EXPECT_EQ(decoded->rejected, 0U);
  EXPECT_EQ(decoded->message, "");
  ASSERT_EQ(b.profiles.size(), 1U);
  const profile::Profile& p = b.profiles[0];
  EXPECT_EQ(b.Text(p.sample_type.type), "samples");
  EXPECT_EQ(b.Text(p.period_type.unit), "nanoseconds");
  EXPECT_EQ(p.period, 50'000'000);
  EXPECT_EQ(p.time_ns, 1'700'000'000'000'000'000U);
  EXPECT_EQ(p.duration_ns, 1'000'000'000U);
  EXPECT_EQ(profile::ServiceName(b, b.resources[p.resource]), "s");
  EXPECT_EQ(b.Text(b.scopes[p.scope].name), "p");
  ASSERT_EQ(b.samples.size(), 1U);
  EXPECT_EQ(b.samples.value[0], 3);
  const profile::Frame& f = b.frames[b.StackFrames(b.samples.stack[0])[0]];
  EXPECT_EQ(b.Text(b.functions[b.FrameLines(f)[0].function].name), "main");
  EXPECT_EQ(b.links[b.samples.link[0]].span[7], 8);
  const profile::Attribute& a = b.attributes[b.AttributeRefs(b.samples.attributes[0])[0]];
  EXPECT_EQ(b.Text(a.key), "thread.name");
  EXPECT_EQ(b.Text(a.value.text), "w");
  EXPECT_EQ(EncodeOtlpProfiles(b), bytes);
}

TEST(OtlpProfiles, RandomMessagesSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const ProfilesData data = testing::RandomProfiles(seed, false);
    const DecodedProfiles decoded = MustDecode(data);
    ASSERT_EQ(decoded.rejected, 0U) << seed << ": " << decoded.message;
    ASSERT_EQ(
        testing::Differences(WithoutUnusedStrings(data), Parse(EncodeOtlpProfiles(decoded.data))),
        "")
        << seed;
  }
}

TEST(OtlpProfiles, StringReferencesAreResolvedEverywhere) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ProfilesData data = testing::RandomProfiles(seed, true);
    const DecodedProfiles decoded = MustDecode(data);
    ASSERT_EQ(decoded.rejected, 0U) << seed << ": " << decoded.message;
    testing::ResolveReferences(data);
    ASSERT_EQ(
        testing::Differences(WithoutUnusedStrings(data), Parse(EncodeOtlpProfiles(decoded.data))),
        "")
        << seed;
  }
}

TEST(OtlpProfiles, SeveralDictionariesInAnyOrderAreOne) {
  const ProfilesData data = testing::RandomProfiles(7, false);
  // Each table in a dictionary of its own, before the profiles, in reverse order.
  std::string bytes;
  const std::string dictionary = data.dictionary().SerializeAsString();
  for (Tag table = 7; table >= 1; --table) {
    std::string part;
    PbfWriter w(part);
    for (Pbf r = Reader(dictionary); r.next(table);) w.add_message(table, r.get_view());
    PbfWriter(bytes).add_message(envelope::kDictionary, part);
  }
  ProfilesData rest = data;
  rest.clear_dictionary();
  bytes += rest.SerializeAsString();
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(
      testing::Differences(WithoutUnusedStrings(data), Parse(EncodeOtlpProfiles(decoded->data))),
      "");
}

TEST(OtlpProfiles, UnpackedNumbersAreAccepted) {
  // Rewrites every packed list of the sample by hand.
  ProfilesData data = TwoProfiles();
  data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->clear_profiles();
  std::string sample_bytes;
  PbfWriter s(sample_bytes);
  s.add_int32(sample::kStack, 1);
  s.add_int64(sample::kValues, 5);
  s.add_int64(sample::kValues, 6);
  s.add_fixed64(sample::kTimes, 100);
  s.add_fixed64(sample::kTimes, 101);
  std::string bytes = data.SerializeAsString();
  {
    PbfWriter root(bytes);
    PbfWriter rp(root, envelope::kResources);
    PbfWriter sp(rp, envelope::kScopes);
    PbfWriter p(sp, envelope::kItems);
    p.add_message(profile_field::kSamples, sample_bytes);
  }
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_TRUE(decoded) << decoded.error().message();
  ASSERT_EQ(decoded->rejected, 0U) << decoded->message;
  ASSERT_EQ(decoded->data.samples.size(), 1U);
  EXPECT_EQ(decoded->data.samples.value[0], 11);
  EXPECT_EQ(decoded->data.times.size(), 2U);
}

TEST(OtlpProfiles, TimesAloneCountAsOneEach) {
  ProfilesData data = TwoProfiles();
  auto* s = data.mutable_resource_profiles(0)
                ->mutable_scope_profiles(0)
                ->mutable_profiles(1)
                ->mutable_samples(0);
  s->clear_values();
  for (std::uint64_t t : {5, 6, 7}) s->add_timestamps_unix_nano(t);
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.data.samples.value[1], 3);
}

// --- an error costs only the profiles that reach it --------------------------------------------

testing::otlp::Sample* SecondSample(ProfilesData& data) {
  return data.mutable_resource_profiles(0)
      ->mutable_scope_profiles(0)
      ->mutable_profiles(1)
      ->mutable_samples(0);
}

// Profile `i` declares how many observations its samples stand for.
void GiveObservations(ProfilesData& data, int i, const std::string& bytes) {
  auto* d = data.mutable_dictionary();
  d->add_string_table("wherefore.profile.observations");
  auto* a = d->add_attribute_table();
  a->set_key_strindex(d->string_table_size() - 1);
  a->mutable_value()->set_bytes_value(bytes);
  data.mutable_resource_profiles(0)
      ->mutable_scope_profiles(0)
      ->mutable_profiles(i)
      ->add_attribute_indices(d->attribute_table_size() - 1);
}

TEST(OtlpProfiles, ASenderMaySayHowManyObservationsItsSamplesStandFor) {
  ProfilesData data = TwoProfiles();
  auto* scope = data.mutable_resource_profiles(0)->mutable_scope_profiles(0);
  scope->mutable_profiles(1)->add_samples()->add_values(5);
  // A profile without samples, which starts where the next one does.
  scope->add_profiles();
  scope->mutable_profiles()->SwapElements(0, 2);
  scope->mutable_scope();
  data.mutable_resource_profiles(0)->mutable_resource();
  GiveObservations(data, 0, "");
  GiveObservations(data, 1, {"\x03\xac\x02", 3});
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.data.samples.count, (std::vector<std::uint32_t>{3, 300, 7}))
      << "the last by the rule";
  EXPECT_EQ(
      testing::Differences(WithoutUnusedStrings(data), Parse(EncodeOtlpProfiles(decoded.data))),
      "");
}

// What OTLP has no field for, in a batch that did not come as OTLP.
TEST(OtlpProfiles, NamesAndObservationsThatDoNotFollowFromTheRestGoOutAndComeBack) {
  profile::Batch batch = MustDecode(TwoProfiles()).data;
  const auto encoded = EncodeOtlpProfiles(batch);
  batch.samples.count.clear();
  for (std::size_t i = 0; i < batch.samples.size(); ++i)
    batch.samples.count.push_back(static_cast<std::uint32_t>(100 + i));
  for (profile::Profile& p : batch.profiles) p.name = batch.AddText("block");
  const auto sent = std::make_shared<const std::string>(EncodeOtlpProfiles(batch));
  const auto back = DecodeOtlpProfiles(sent);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->message, "");
  EXPECT_EQ(back->data.samples.count, batch.samples.count);
  for (std::size_t i = 0; i < batch.profiles.size(); ++i) {
    EXPECT_EQ(profile::TypeOf(back->data, back->data.profiles[i]),
              profile::TypeOf(batch, batch.profiles[i]));
  }
  EXPECT_EQ(EncodeOtlpProfiles(back->data), *sent) << "the second time nothing is added";
  // Through JSON too, whose bytes are base64.
  const auto json = std::make_shared<const std::string>(EncodeOtlpProfilesJson(batch));
  const auto from_json = DecodeOtlpProfilesJson(json);
  ASSERT_TRUE(from_json) << from_json.error().message();
  EXPECT_EQ(from_json->data.samples.count, batch.samples.count);
  // What follows from the rest is not written.
  batch.samples.count.clear();
  for (profile::Profile& p : batch.profiles) p.name = 0;
  EXPECT_EQ(EncodeOtlpProfiles(batch), encoded);
}

TEST(OtlpProfiles, OtherObservationsThanItCameWithGoOutInstead) {
  ProfilesData data = TwoProfiles();
  GiveObservations(data, 0, {"\x05", 1});
  profile::Batch batch = MustDecode(data).data;
  ASSERT_EQ(batch.samples.count.at(0), 5U);
  batch.samples.count[0] = 9;
  const auto back =
      DecodeOtlpProfiles(std::make_shared<const std::string>(EncodeOtlpProfiles(batch)));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->data.samples.count.at(0), 9U);
  EXPECT_EQ(back->data.profiles[0].attributes.count, batch.profiles[0].attributes.count);
}

TEST(OtlpProfiles, NumbersOfObservationsThatDoNotFitTheSamplesAreNoted) {
  ProfilesData data = TwoProfiles();
  GiveObservations(data, 0, {"\x03\x04", 2});
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 0U);
  EXPECT_TRUE(decoded.data.samples.count.empty());
  EXPECT_NE(decoded.message.find("observations is not one number for each of 1 samples"),
            std::string::npos)
      << decoded.message;
}

TEST(OtlpProfiles, StackIndexOutsideTheTableRejectsItsProfile) {
  ProfilesData data = TwoProfiles();
  SecondSample(data)->set_stack_index(12);
  ExpectSecondRejected(
      data,
      "resource_profiles[0].scope_profiles[0].profiles[1].samples[0].stack_index: 12 is "
      "outside stack_table (3 entries)");
}

TEST(OtlpProfiles, NegativeIndexRejectsItsProfile) {
  ProfilesData data = TwoProfiles();
  SecondSample(data)->set_link_index(-1);
  ExpectSecondRejected(data, "samples[0].link_index: -1 is outside link_table (1 entries)");
  data = TwoProfiles();
  SecondSample(data)->add_attribute_indices(-5);
  ExpectSecondRejected(data, "attribute_indices: -5 is outside attribute_table");
}

TEST(OtlpProfiles, BadFunctionRejectsOnlyProfilesThatReachIt) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->mutable_function_table(2)->set_name_strindex(99);
  ExpectSecondRejected(data,
                       "function_table[2]: name_strindex: 99 is outside string_table (6 entries)");
}

TEST(OtlpProfiles, BadLocationIndexInAStackRejectsOnlyProfilesThatReachIt) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->mutable_stack_table(2)->set_location_indices(0, -1);
  ExpectSecondRejected(data, "stack_table[2]: location_indices: -1 is outside location_table");
}

TEST(OtlpProfiles, StringThatIsNotUtf8RejectsOnlyProfilesThatReachIt) {
  std::string bytes = TwoProfiles().SerializeAsString();
  bytes[bytes.find("work")] = '\xff';
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->rejected, 1U);
  EXPECT_NE(decoded->message.find("string_table[4]: not UTF-8"), std::string::npos)
      << decoded->message;
}

TEST(OtlpProfiles, LinkIdsOfOtherLengthsRejectOnlyProfilesThatUseThem) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->add_link_table()->set_trace_id("short");
  SecondSample(data)->set_link_index(1);
  ExpectSecondRejected(data, "link_index: link_table[1]: trace id of 5 bytes, span id of 0 bytes");
}

TEST(OtlpProfiles, EveryLegalFormOfTheNullLinkIsAccepted) {
  for (const int form : {0, 1, 2}) {
    ProfilesData data = TwoProfiles();
    auto* l = data.mutable_dictionary()->mutable_link_table(0);
    if (form == 1) l->set_trace_id(std::string(16, '\0')), l->set_span_id(std::string(8, '\0'));
    std::string bytes = data.SerializeAsString();
    if (form == 2) {
      data.mutable_dictionary()->clear_link_table();
      bytes = data.SerializeAsString();
      PbfWriter root(bytes);
      PbfWriter d(root, envelope::kDictionary);
      PbfWriter e(d, dictionary::kLinks);
      e.add_bytes(link::kTraceId, "", 0);
      e.add_bytes(link::kSpanId, "", 0);
    }
    auto decoded = DecodeOtlpProfiles(Shared(bytes));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->rejected, 0U);
    EXPECT_EQ(decoded->message, "") << form;
  }
}

TEST(OtlpProfiles, SampleShapesAreChecked) {
  ProfilesData data = TwoProfiles();
  SecondSample(data)->clear_values();
  ExpectSecondRejected(data, "neither values nor timestamps_unix_nano");
  data = TwoProfiles();
  SecondSample(data)->add_timestamps_unix_nano(1);
  SecondSample(data)->add_timestamps_unix_nano(2);
  ExpectSecondRejected(data, "1 values but 2 timestamps_unix_nano");
  data = TwoProfiles();
  SecondSample(data)->set_values(0, std::numeric_limits<std::int64_t>::max());
  SecondSample(data)->add_values(1);
  ExpectSecondRejected(data, "does not fit 64 bits");
}

TEST(OtlpProfiles, ProfileIdOfAnotherLengthRejectsItsProfile) {
  ProfilesData data = TwoProfiles();
  data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(1)->set_profile_id(
      "abc");
  ExpectSecondRejected(data, "profiles[1].profile_id: 3 bytes");
}

TEST(OtlpProfiles, BadResourceAttributeRejectsTheProfilesOfThatResource) {
  ProfilesData data = TwoProfiles();
  auto* kv = data.mutable_resource_profiles(0)->mutable_resource()->add_attributes();
  kv->set_key("host");
  kv->mutable_value()->set_string_value_strindex(77);
  auto* other = data.add_resource_profiles();
  *other->add_scope_profiles()->add_profiles() =
      data.resource_profiles(0).scope_profiles(0).profiles(0);
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 2U);
  EXPECT_EQ(decoded.data.profiles.size(), 1U);
  EXPECT_NE(decoded.message.find("host: 77 is outside string_table"), std::string::npos)
      << decoded.message;
}

TEST(OtlpProfiles, ValuesNestedTooDeepAreRefused) {
  ProfilesData data = TwoProfiles();
  auto* v =
      data.mutable_resource_profiles(0)->mutable_resource()->add_attributes()->mutable_value();
  for (int i = 0; i < 40; ++i) v = v->mutable_array_value()->add_values();
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 2U);
  EXPECT_NE(decoded.message.find("nested deeper than 32"), std::string::npos) << decoded.message;
}

TEST(OtlpProfiles, FilledNullEntryIsReadAsNotSetAndNoted) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->set_string_table(0, "surprise");
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 0U);
  EXPECT_EQ(decoded.data.strings[0], "");
  EXPECT_NE(decoded.message.find("string_table[0] is not empty"), std::string::npos);
}

TEST(OtlpProfiles, WhatAFilledNullEntryRefersToIsForgotten) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->mutable_stack_table(0)->add_location_indices(99);
  data.mutable_dictionary()->mutable_location_table(0)->add_lines()->set_function_index(99);
  data.mutable_dictionary()->mutable_location_table(0)->add_attribute_indices(99);
  EXPECT_EQ(MustDecode(data).rejected, 0U);  // and valid
}

TEST(OtlpProfiles, ALineWithoutFunctionFromTheCollectorIsReadAsNotSet) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->mutable_location_table(2)->mutable_lines(0)->set_function_index(-1);
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 0U);
  EXPECT_NE(decoded.message.find("function_index -1"), std::string::npos);
  data.mutable_dictionary()->mutable_location_table(2)->mutable_lines(0)->set_function_index(-2);
  ExpectSecondRejected(data, "function_index");
}

TEST(OtlpProfiles, WithoutDictionaryOnlyNullsCanBeUsed) {
  ProfilesData data = TwoProfiles();
  data.clear_dictionary();
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 2U);
}

TEST(OtlpProfiles, TruncatedBytesAreCorruptAndSayWhere) {
  const std::string bytes = TwoProfiles().SerializeAsString();
  int corrupt = 0;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    auto decoded = DecodeOtlpProfiles(Shared(bytes.substr(0, size)));
    if (decoded) continue;
    EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
    ++corrupt;
  }
  EXPECT_GT(corrupt, 50);
}

TEST(OtlpProfiles, MillionsOfEmptyMessagesAreRefused) {
  std::string scope_bytes;
  for (int i = 0; i < 200'000; ++i) scope_bytes += std::string("\x12\x00", 2);  // Profile
  std::string bytes;
  {
    PbfWriter root(bytes);
    PbfWriter rp(root, envelope::kResources);
    rp.add_message(envelope::kScopes, scope_bytes);
  }
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kLimit);
}

TEST(OtlpProfiles, CountsBesideCpuTimeOfTheSameScopeAreMarked) {
  ProfilesData data = TwoProfiles();
  data.mutable_dictionary()->add_string_table("cpu");
  data.mutable_dictionary()->add_string_table("nanoseconds");
  auto* t = data.mutable_resource_profiles(0)
                ->mutable_scope_profiles(0)
                ->mutable_profiles(1)
                ->mutable_sample_type();
  t->set_type_strindex(6);
  t->set_unit_strindex(7);
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_TRUE(decoded.data.profiles[0].has_cpu_sibling);
  EXPECT_FALSE(decoded.data.profiles[1].has_cpu_sibling);
  EXPECT_FALSE(MustDecode(TwoProfiles()).data.profiles[0].has_cpu_sibling);
}

// --- the 1.8 and 1.9 layouts -------------------------------------------------------------------

// Rewrites a current request into the old numbering; `v18` moves the tail of Profile up by one.
std::string ToOld(const ProfilesData& data, bool v18) {
  std::string out;
  PbfWriter root(out);
  for (const auto& rp : data.resource_profiles()) {
    PbfWriter rw(root, envelope::kResources);
    rw.add_message(envelope::kResource, rp.resource().SerializeAsString());
    for (const auto& sp : rp.scope_profiles()) {
      PbfWriter sw(rw, envelope::kScopes);
      sw.add_message(envelope::kScope, sp.scope().SerializeAsString());
      for (auto p : sp.profiles()) {
        PbfWriter pw(sw, envelope::kItems);
        for (const auto& s : p.samples()) {
          PbfWriter w(pw, profile_field::kSamples);
          w.add_int32(sample::kStack, s.stack_index());
          w.add_packed_int64(old_sample::kValues, s.values().begin(), s.values().end());
          w.add_packed_int32(old_sample::kAttributes, s.attribute_indices().begin(),
                             s.attribute_indices().end());
          if (s.link_index() != 0) w.add_int32(old_sample::kLink, s.link_index());
          w.add_packed_fixed64(sample::kTimes, s.timestamps_unix_nano().begin(),
                               s.timestamps_unix_nano().end());
        }
        p.clear_samples();
        const std::string rest = p.SerializeAsString();
        for (Pbf r = Reader(rest); r.next();) {
          const Tag tag = v18 && r.tag() >= profile_field::kId ? r.tag() + 1 : r.tag();
          switch (r.wire_type()) {
            case protozero::pbf_wire_type::varint:
              pw.add_uint64(tag, r.get_uint64());
              break;
            case protozero::pbf_wire_type::fixed64:
              pw.add_fixed64(tag, r.get_fixed64());
              break;
            default:
              pw.add_bytes(tag, r.get_view());
          }
        }
      }
    }
  }
  root.add_message(envelope::kDictionary, data.dictionary().SerializeAsString());
  return out;
}

TEST(OtlpProfiles, OldLayoutsAreToldApartAndMerged) {
  const ProfilesData data = TwoProfiles();
  const std::string today = data.SerializeAsString();
  EXPECT_TRUE(HasTodaysLayout(today));
  EXPECT_FALSE(HasTodaysLayout("\xff\xff"));
  for (const bool v18 : {false, true}) {
    const std::string old = ToOld(data, v18);
    EXPECT_FALSE(HasTodaysLayout(old));
    const std::string_view both[] = {today, old};
    const auto merged = MergeOtlp(Signal::kProfiles, both);
    ASSERT_TRUE(merged) << merged.error().message();
    EXPECT_TRUE(HasTodaysLayout(*merged));
    const DecodedProfiles decoded = MustDecode(Parse(*merged));
    EXPECT_EQ(decoded.rejected, 0U);
    EXPECT_EQ(decoded.data.samples.value, (std::vector<std::int64_t>{7, 8, 7, 8}));
  }
}

TEST(OtlpProfiles, OldLayoutsGiveTheSameBatch) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    ProfilesData data = testing::RandomProfiles(seed, false);
    for (auto& rp : *data.mutable_resource_profiles()) {
      rp.clear_schema_url();
      for (auto& sp : *rp.mutable_scope_profiles()) {
        sp.clear_schema_url();
        // The unambiguous shape: one value, no times. Comments came with dropped counts in 1.8.
        for (auto& p : *sp.mutable_profiles()) {
          p.set_dropped_attributes_count(1);
          for (auto& s : *p.mutable_samples()) {
            s.clear_timestamps_unix_nano();
            s.clear_values();
            s.add_values(5);
            ++compared;
          }
        }
      }
    }
    for (const bool v18 : {false, true}) {
      bool has_samples = false;
      for (const auto& rp : data.resource_profiles())
        for (const auto& sp : rp.scope_profiles())
          for (const auto& p : sp.profiles()) has_samples |= p.samples_size() > 0;
      if (!has_samples) continue;
      auto decoded = DecodeOtlpProfiles(Shared(ToOld(data, v18)));
      ASSERT_TRUE(decoded) << seed << decoded.error().message();
      ASSERT_EQ(decoded->rejected, 0U) << seed << decoded->message;
      ASSERT_EQ(testing::Differences(WithoutUnusedStrings(data),
                                     Parse(EncodeOtlpProfiles(decoded->data))),
                "")
          << seed << v18;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(OtlpProfiles, CommentsOfLayout18BecomeAnAttribute) {
  const ProfilesData data = TwoProfiles();
  std::string bytes;
  {
    PbfWriter root(bytes);
    PbfWriter rp(root, envelope::kResources);
    PbfWriter sp(rp, envelope::kScopes);
    PbfWriter p(sp, envelope::kItems);
    PbfWriter s(p, profile_field::kSamples);
    s.add_int32(sample::kStack, 1);
    const std::int64_t values[] = {4};
    s.add_packed_int64(old_sample::kValues, values, values + 1);
    s.commit();
    const std::int32_t comments[] = {3, 4};
    p.add_packed_int32(old_profile::kComments, comments, comments + 2);
  }
  PbfWriter(bytes).add_message(envelope::kDictionary, data.dictionary().SerializeAsString());
  auto decoded = DecodeOtlpProfiles(Shared(bytes));
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->rejected, 0U) << decoded->message;
  ASSERT_TRUE(decoded->data.Validate());
  const ProfilesData again = Parse(EncodeOtlpProfiles(decoded->data));
  const auto& p = again.resource_profiles(0).scope_profiles(0).profiles(0);
  ASSERT_EQ(p.attribute_indices_size(), 1);
  const auto& a = again.dictionary().attribute_table(p.attribute_indices(0));
  EXPECT_EQ(again.dictionary().string_table(a.key_strindex()), "pprof.profile.comment");
  EXPECT_EQ(a.value().array_value().values(1).string_value(), "work");
}

TEST(OtlpProfiles, TimesWithAttributesAreTheCurrentLayout) {
  // What the eBPF profiler sends: three attributes, any number of times, no values.
  ProfilesData data = TwoProfiles();
  for (int i = 0; i < 3; ++i) data.mutable_dictionary()->add_attribute_table()->set_key_strindex(5);
  for (auto& p :
       *data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles()) {
    auto* s = p.mutable_samples(0);
    s->clear_values();
    for (int i = 1; i <= 3; ++i) s->add_attribute_indices(i);
    s->add_timestamps_unix_nano(1);
  }
  const DecodedProfiles decoded = MustDecode(data);
  ASSERT_EQ(decoded.rejected, 0U) << decoded.message;
  EXPECT_EQ(decoded.data.samples.attributes[0].count, 3U);
  EXPECT_EQ(decoded.data.samples.value[0], 1);
}

TEST(OtlpProfiles, AsManyTimesAsAttributesIsStillTheCurrentLayout) {
  ProfilesData data = TwoProfiles();
  for (int i = 0; i < 2; ++i) data.mutable_dictionary()->add_attribute_table()->set_key_strindex(5);
  for (auto& p :
       *data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles()) {
    auto* s = p.mutable_samples(0);
    s->clear_values();
    for (int i = 1; i <= 2; ++i) {
      s->add_attribute_indices(i);
      s->add_timestamps_unix_nano(100 + i);
    }
  }
  const DecodedProfiles decoded = MustDecode(data);
  EXPECT_EQ(decoded.data.samples.attributes[0].count, 2U);
  EXPECT_EQ(decoded.data.samples.value[0], 2);
}

TEST(OtlpProfiles, ValuesWithTimesThatCannotBeAttributesAreTheOldLayout) {
  ProfilesData data = TwoProfiles();
  for (auto& p :
       *data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles()) {
    p.mutable_samples(0)->add_values(1);
    for (int i = 0; i < 2; ++i) p.mutable_samples(0)->add_timestamps_unix_nano(100 + i);
  }
  auto decoded = DecodeOtlpProfiles(Shared(ToOld(data, false)));
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->rejected, 0U) << decoded->message;
  EXPECT_EQ(decoded->data.samples.value[0], 8);
}

TEST(OtlpProfiles, EmptyMessagesAreCountedOnceAndRefusedBeyondALimit) {
  const auto resources = [](int count) {
    ProfilesData data = TwoProfiles();
    for (int i = 0; i < count; ++i) data.add_resource_profiles();
    return DecodeOtlpProfiles(Shared(data.SerializeAsString()));
  };
  EXPECT_TRUE(resources(99'000));
  EXPECT_EQ(resources(100'001).error().code(), Code::kLimit);
}

TEST(OtlpProfiles, StringsNothingRefersToAreNotWritten) {
  const auto decoded = DecodeFolded(Shared("main;work 7\n"),
                                    {.service = "shop", .labels = {{"zone", "a"}}, .name = "cpu"});
  ASSERT_TRUE(decoded);
  const ProfilesData data = Parse(EncodeOtlpProfiles(decoded->data));
  const auto& table = data.dictionary().string_table();
  const std::set<std::string> strings(table.begin(), table.end());
  EXPECT_EQ(strings, (std::set<std::string>{"", "work", "main", "samples", "count",
                                            std::string(profile::kProfileNameKey)}));
  EXPECT_EQ(static_cast<std::size_t>(table.size()), strings.size());
}

}  // namespace
}  // namespace wherefore::formats
