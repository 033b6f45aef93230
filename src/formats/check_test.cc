#include <functional>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/testing.h"
#include "perftools/profile.pb.h"

namespace wherefore::formats {
namespace {

using testing::otlp::ProfilesData;

ProfilesData Vector() {
  ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(testing::ReadFile("tests/golden/vector.otlp")));
  return data;
}

// "rule path" of each violation, warnings marked with "?".
std::vector<std::string> Rules(const std::vector<Violation>& violations) {
  std::vector<std::string> out;
  for (const Violation& v : violations)
    out.push_back((v.warning ? "?" : "") + v.rule + " " + v.path);
  return out;
}

struct Case {
  const char* name;
  std::function<void(ProfilesData&)> change;
  std::string expected;  // among the violations
};

testing::otlp::Profile* P(ProfilesData& d) {
  return d.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
}

TEST(CheckOtlp, TheGoldenVectorIsClean) {
  EXPECT_EQ(Rules(CheckOtlpProfiles(testing::ReadFile("tests/golden/vector.otlp"))),
            std::vector<std::string>{});
}

TEST(CheckOtlp, EveryRuleFires) {
  const std::string p = "resource_profiles[0].scope_profiles[0].profiles[0]";
  const Case cases[] = {
      {"no resources", [](auto& d) { d.clear_resource_profiles(); }, "not-empty resource_profiles"},
      {"no scopes", [](auto& d) { d.mutable_resource_profiles(0)->clear_scope_profiles(); },
       "not-empty resource_profiles[0].scope_profiles"},
      {"no profiles",
       [](auto& d) { d.mutable_resource_profiles(0)->mutable_scope_profiles(0)->clear_profiles(); },
       "not-empty resource_profiles[0].scope_profiles[0].profiles"},
      {"no dictionary", [](auto& d) { d.clear_dictionary(); }, "dictionary dictionary"},
      {"empty table", [](auto& d) { d.mutable_dictionary()->clear_mapping_table(); },
       "null-entry dictionary.mapping_table"},
      {"filled null",
       [](auto& d) { d.mutable_dictionary()->mutable_function_table(0)->set_start_line(1); },
       "null-entry dictionary.function_table[0]"},
      {"filled null string", [](auto& d) { d.mutable_dictionary()->set_string_table(0, "x"); },
       "null-entry dictionary.string_table[0]"},
      {"stack index", [](auto& d) { P(d)->mutable_samples(0)->set_stack_index(9); },
       "index " + p + ".samples[0].stack_index"},
      {"negative link", [](auto& d) { P(d)->mutable_samples(0)->set_link_index(-1); },
       "index " + p + ".samples[0].link_index"},
      {"sample attribute", [](auto& d) { P(d)->mutable_samples(0)->add_attribute_indices(7); },
       "index " + p + ".samples[0].attribute_indices"},
      {"sample type", [](auto& d) { P(d)->mutable_sample_type()->set_type_strindex(99); },
       "index " + p + ".sample_type.type_strindex"},
      {"period type", [](auto& d) { P(d)->mutable_period_type()->set_unit_strindex(-2); },
       "index " + p + ".period_type.unit_strindex"},
      {"location in stack",
       [](auto& d) { d.mutable_dictionary()->mutable_stack_table(1)->add_location_indices(5); },
       "index dictionary.stack_table[1].location_indices"},
      {"mapping in location",
       [](auto& d) { d.mutable_dictionary()->mutable_location_table(1)->set_mapping_index(5); },
       "index dictionary.location_table[1].mapping_index"},
      {"function in line",
       [](auto& d) {
         d.mutable_dictionary()->mutable_location_table(1)->mutable_lines(0)->set_function_index(
             -1);
       },
       "index dictionary.location_table[1].lines[0].function_index"},
      {"string in function",
       [](auto& d) {
         d.mutable_dictionary()->mutable_function_table(1)->set_filename_strindex(50);
       },
       "index dictionary.function_table[1].filename_strindex"},
      {"key of attribute",
       [](auto& d) { d.mutable_dictionary()->mutable_attribute_table(1)->set_key_strindex(50); },
       "index dictionary.attribute_table[1].key_strindex"},
      {"key twice", [](auto& d) { P(d)->mutable_samples(0)->add_attribute_indices(1); },
       "attribute-keys " + p + ".samples[0].attribute_indices"},
      {"mapping range",
       [](auto& d) {
         auto* m = d.mutable_dictionary()->add_mapping_table();
         m->set_memory_start(9), m->set_memory_limit(9);
       },
       "mapping-range dictionary.mapping_table[1]"},
      {"build id",
       [](auto& d) { d.mutable_dictionary()->add_mapping_table()->set_memory_limit(9); },
       "?build-id dictionary.mapping_table[1]"},
      {"line",
       [](auto& d) {
         d.mutable_dictionary()->mutable_location_table(1)->mutable_lines(0)->set_line(-1);
       },
       "line-number dictionary.location_table[1].lines[0].line"},
      {"start line",
       [](auto& d) { d.mutable_dictionary()->mutable_function_table(1)->set_start_line(-1); },
       "line-number dictionary.function_table[1].start_line"},
      {"nameless", [](auto& d) { d.mutable_dictionary()->add_function_table()->set_start_line(3); },
       "function-name dictionary.function_table[2]"},
      {"link ids", [](auto& d) { d.mutable_dictionary()->mutable_link_table(1)->set_span_id("x"); },
       "link-ids dictionary.link_table[1].span_id"},
      {"time",
       [](auto& d) {
         P(d)->mutable_samples(0)->clear_values(),
             P(d)->mutable_samples(0)->add_timestamps_unix_nano(5);
       },
       "timestamp-range " + p + ".samples[0].timestamps_unix_nano"},
      {"end is outside",
       [](auto& d) {
         auto* s = P(d)->mutable_samples(0);
         s->clear_values();
         s->add_timestamps_unix_nano(P(d)->time_unix_nano() + P(d)->duration_nano());
       },
       "timestamp-range " + p + ".samples[0].timestamps_unix_nano"},
      {"two values", [](auto& d) { P(d)->mutable_samples(0)->add_values(1); },
       "sample-shape " + p + ".samples[0]"},
      {"unequal",
       [](auto& d) {
         auto* s = P(d)->mutable_samples(0);
         for (int i = 0; i < 2; ++i) s->add_timestamps_unix_nano(P(d)->time_unix_nano());
       },
       "sample-shape " + p + ".samples[0]"},
      {"mixed shapes",
       [](auto& d) {
         auto* s = P(d)->add_samples();
         s->add_timestamps_unix_nano(P(d)->time_unix_nano());
       },
       "?one-shape " + p + ".samples"},
      {"same sample",
       [](auto& d) {
         auto copy = P(d)->samples(0);
         *P(d)->add_samples() = copy;
       },
       "?sample-unique " + p + ".samples[1]"},
      {"profile id", [](auto& d) { P(d)->set_profile_id("short"); },
       "profile-id " + p + ".profile_id"},
      {"zero profile id", [](auto& d) { P(d)->set_profile_id(std::string(16, '\0')); },
       "profile-id " + p + ".profile_id"},
      {"payload", [](auto& d) { P(d)->set_original_payload("x"); },
       "payload " + p + ".original_payload"},
      {"duplicate", [](auto& d) { d.mutable_dictionary()->add_string_table("main"); },
       "?duplicate dictionary.string_table[8]"},
      {"orphan", [](auto& d) { d.mutable_dictionary()->add_string_table("nobody"); },
       "?orphan dictionary.string_table[8]"},
      {"two keys",
       [](auto& d) {
         d.mutable_resource_profiles(0)
             ->mutable_resource()
             ->mutable_attributes(0)
             ->set_key_strindex(1);
       },
       "key resource_profiles[0].resource.attributes[0]"},
  };
  for (const Case& c : cases) {
    ProfilesData data = Vector();
    c.change(data);
    const std::vector<std::string> rules = Rules(CheckOtlpProfiles(data.SerializeAsString()));
    EXPECT_NE(std::ranges::find(rules, c.expected), rules.end())
        << c.name << ": " << c.expected << " is not among "
        << fmt::format("{}", fmt::join(rules, ", "));
  }
}

TEST(CheckOtlp, StringsReferredToFromTheResourceAreNoOrphans) {
  ProfilesData data = Vector();
  data.mutable_dictionary()->add_string_table("host.name");
  auto* kv = data.mutable_resource_profiles(0)->mutable_resource()->add_attributes();
  kv->set_key_strindex(8);
  kv->mutable_value()->mutable_array_value()->add_values()->set_string_value_strindex(9);
  data.mutable_dictionary()->add_string_table("nested");
  EXPECT_EQ(Rules(CheckOtlpProfiles(data.SerializeAsString())), std::vector<std::string>{});
}

TEST(CheckOtlp, BrokenBytesAndOldLayoutsAreNamed) {
  const std::string bytes = testing::ReadFile("tests/golden/vector.otlp");
  EXPECT_EQ(CheckOtlpProfiles(bytes.substr(0, 100))[0].rule, "protobuf");
  // Renumbering the values field turns the sample into a 1.9 one.
  std::string old = bytes;
  const std::size_t sample = old.find(std::string("\x08\x01\x12\x01\x01\x18\x01\x22\x01\x03", 10));
  ASSERT_NE(sample, std::string::npos);
  old.replace(sample, 10, std::string("\x08\x01\x12\x01\x03\x1a\x01\x01\x20\x01", 10));
  EXPECT_EQ(Rules(CheckOtlpProfiles(old)), std::vector<std::string>{"layout request"});
  EXPECT_EQ(DecodeOtlpProfiles(testing::Shared(old))->data.samples.value[0], 3);
}

TEST(CheckOtlp, NotUtf8IsNamed) {
  std::string bytes = testing::ReadFile("tests/golden/vector.otlp");
  bytes[bytes.find("main.cc")] = '\xff';
  EXPECT_EQ(Rules(CheckOtlpProfiles(bytes)),
            std::vector<std::string>{"utf8 dictionary.string_table[6]"});
}

perftools::profiles::Profile GoodPprof() {
  perftools::profiles::Profile p;
  for (const char* s : {"", "cpu", "nanoseconds", "main", "key"}) p.add_string_table(s);
  p.add_sample_type()->set_type(1);
  p.mutable_sample_type(0)->set_unit(2);
  auto* m = p.add_mapping();
  m->set_id(1);
  m->set_memory_limit(100);
  auto* f = p.add_function();
  f->set_id(7);
  f->set_name(3);
  auto* l = p.add_location();
  l->set_id(9);
  l->set_mapping_id(1);
  l->add_line()->set_function_id(7);
  auto* s = p.add_sample();
  s->add_location_id(9);
  s->add_value(5);
  s->add_label()->set_key(4);
  s->mutable_label(0)->set_num(1);
  return p;
}

TEST(CheckPprof, GoodFilesAreClean) {
  EXPECT_EQ(Rules(CheckPprof(GoodPprof().SerializeAsString())), std::vector<std::string>{});
  EXPECT_EQ(Rules(CheckPprof(testing::ReadFile("tests/golden/go_cpu.pb.gz"))),
            std::vector<std::string>{});
  EXPECT_EQ(Rules(CheckPprof(testing::ReadFile("tests/golden/go_heap.pb.gz"))),
            std::vector<std::string>{});
}

TEST(CheckPprof, EveryRuleFires) {
  using Change = std::function<void(perftools::profiles::Profile&)>;
  const std::pair<Change, std::string> cases[] = {
      {[](auto& p) { p.clear_sample_type(); }, "sample-types sample_type"},
      {[](auto& p) { p.mutable_sample(0)->add_value(1); }, "value-count sample[0].value"},
      {[](auto& p) { p.mutable_location(0)->set_id(0); }, "id location[0]"},
      {[](auto& p) { *p.add_function() = p.function(0); }, "id function[1]"},
      {[](auto& p) { p.mutable_sample(0)->add_location_id(4); }, "reference sample[0].location_id"},
      {[](auto& p) { p.mutable_location(0)->set_mapping_id(4); },
       "reference location[0].mapping_id"},
      {[](auto& p) { p.mutable_location(0)->mutable_line(0)->set_function_id(4); },
       "reference location[0].line.function_id"},
      {[](auto& p) { p.mutable_function(0)->set_name(-1); }, "string-index function[0].name"},
      {[](auto& p) { p.set_string_table(0, "x"); }, "string-table string_table[0]"},
      {[](auto& p) { p.mutable_sample(0)->mutable_label(0)->set_key(0); },
       "label-key sample[0].label"},
      {[](auto& p) { p.mutable_sample(0)->mutable_label(0)->set_str(3); },
       "label-value sample[0].label"},
      {[](auto& p) { p.mutable_mapping(0)->set_memory_start(500); }, "mapping-range mapping[0]"},
      {[](auto& p) { p.set_default_sample_type(3); }, "?default-type default_sample_type"},
      {[](auto& p) { p.set_duration_nanos(-3); }, "time duration_nanos"},
  };
  for (const auto& [change, expected] : cases) {
    auto p = GoodPprof();
    change(p);
    const std::vector<std::string> rules = Rules(CheckPprof(p.SerializeAsString()));
    EXPECT_NE(std::ranges::find(rules, expected), rules.end())
        << expected << " is not among " << fmt::format("{}", fmt::join(rules, ", "));
  }
}

}  // namespace
}  // namespace wherefore::formats
