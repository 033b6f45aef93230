#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/testing.h"
#include "formats/wire/gzip.h"
#include "perftools/profile.pb.h"

namespace wherefore::formats {
namespace {

using perftools::profiles::Profile;
using testing::Random;
using testing::Shared;

// A pprof message as text with every reference resolved: files with the same meaning compare equal.
class Dump {
 public:
  explicit Dump(const Profile& p) : p_(p) {}

  std::string Run() {
    std::string out = fmt::format("time {} {} period {} {}\n", p_.time_nanos(), p_.duration_nanos(),
                                  Type(p_.period_type()), p_.period());
    out += fmt::format("drop {} keep {} default {} doc {}\n", S(p_.drop_frames()),
                       S(p_.keep_frames()), S(p_.default_sample_type()), S(p_.doc_url()));
    for (const auto c : p_.comment()) out += "comment " + S(c) + "\n";
    for (const auto& t : p_.sample_type()) out += "type " + Type(t) + "\n";
    for (const auto& m : p_.mapping()) out += MappingText(m) + "\n";
    for (const auto& s : p_.sample()) out += SampleText(s);
    return out;
  }

 private:
  std::string S(std::int64_t i) { return "'" + p_.string_table(static_cast<int>(i)) + "'"; }
  std::string Type(const perftools::profiles::ValueType& t) {
    return S(t.type()) + "/" + S(t.unit());
  }
  std::string MappingText(const perftools::profiles::Mapping& m) {
    return fmt::format("mapping {} {} {} {} {} {}{}{}{}", m.memory_start(), m.memory_limit(),
                       m.file_offset(), S(m.filename()), S(m.build_id()), m.has_functions(),
                       m.has_filenames(), m.has_line_numbers(), m.has_inline_frames());
  }
  template <typename Table>
  static const auto* ById(const Table& table, std::uint64_t id) {
    for (const auto& item : table) {
      if (item.id() == id) return &item;
    }
    return static_cast<decltype(&table.Get(0))>(nullptr);
  }
  std::string SampleText(const perftools::profiles::Sample& s) {
    std::string out = "sample";
    for (const auto v : s.value()) out += fmt::format(" {}", v);
    std::vector<std::string> labels;
    for (const auto& l : s.label()) {
      labels.push_back(
          fmt::format(" [{} {} {} {}]", S(l.key()), S(l.str()), l.num(), S(l.num_unit())));
    }
    std::ranges::sort(labels);
    for (const auto& l : labels) out += l;
    for (const auto id : s.location_id()) {
      const auto* l = ById(p_.location(), id);
      const auto* m = ById(p_.mapping(), l->mapping_id());
      out += fmt::format("\n  {} folded {} in {}", l->address(), l->is_folded(),
                         m == nullptr ? "-" : MappingText(*m));
      for (const auto& line : l->line()) {
        const auto* f = ById(p_.function(), line.function_id());
        out += fmt::format(" <{}:{}", line.line(), line.column());
        if (f != nullptr) {
          out += S(f->name()) + S(f->system_name()) + S(f->filename()) +
                 fmt::format("{}", f->start_line());
        }
        out += ">";
      }
    }
    return out + "\n";
  }

  const Profile& p_;
};

std::string DumpBytes(const std::string& bytes) {
  Profile p;
  EXPECT_TRUE(p.ParseFromString(bytes));
  return Dump(p).Run();
}

Profile RandomPprof(std::uint64_t seed) {
  Random random(seed);
  Profile p;
  p.add_string_table("");
  for (int i = 1; i < 20; ++i) p.add_string_table("s" + std::to_string(i) + random.Text());
  for (const char* s :
       {"trace_id", "span_id", "00112233445566778899aabbccddeeff", "0123456789abcdef"})
    p.add_string_table(s);
  const auto str = [&] { return random.Below(20); };
  const int types = 1 + random.Below(4);
  for (int i = 0; i < types; ++i) {
    p.add_sample_type()->set_type(1 + i);
    p.mutable_sample_type(i)->set_unit(str());
  }
  p.mutable_period_type()->set_type(str());
  p.mutable_period_type()->set_unit(str());
  p.set_period(random.Below(1000));
  p.set_time_nanos(random.Below(1 << 30));
  p.set_duration_nanos(random.Below(1 << 30));
  p.set_drop_frames(str());
  p.set_keep_frames(str());
  p.set_doc_url(str());
  p.set_default_sample_type(random.Below(3));
  for (int i = random.Below(3); i > 0; --i) p.add_comment(str());
  const std::uint64_t step =
      1 + static_cast<std::uint64_t>(random.Below(2)) * 1000;  // dense or odd ids
  const int mappings = random.Below(3);
  for (int i = 1; i <= mappings; ++i) {
    auto* m = p.add_mapping();
    m->set_id(i * step);
    m->set_memory_start(random.Bits());
    m->set_memory_limit(random.Bits());
    m->set_filename(str());
    m->set_build_id(str());
    m->set_has_functions(random.OneIn(2));
    m->set_has_inline_frames(random.OneIn(2));
  }
  const int functions = 1 + random.Below(5);
  for (int i = 1; i <= functions; ++i) {
    auto* f = p.add_function();
    f->set_id(i * step);
    f->set_name(str());
    f->set_system_name(str());
    f->set_filename(str());
    f->set_start_line(random.Number());
  }
  const int locations = 1 + random.Below(8);
  for (int i = 1; i <= locations; ++i) {
    auto* l = p.add_location();
    l->set_id(i * step);
    l->set_mapping_id(random.Below(mappings + 1) * step);
    l->set_address(random.Bits());
    l->set_is_folded(random.OneIn(4));
    for (int n = random.Below(3); n > 0; --n) {
      auto* line = l->add_line();
      line->set_function_id((1 + random.Below(functions)) * step);
      line->set_line(random.Below(100));
      line->set_column(random.Below(3));
    }
  }
  for (int i = random.Below(20); i > 0; --i) {
    auto* s = p.add_sample();
    for (int n = random.Below(10); n > 0; --n)
      s->add_location_id((1 + random.Below(locations)) * step);
    for (int n = 0; n < types; ++n) s->add_value(random.Number());
    if (random.OneIn(2)) {
      auto* l = s->add_label();
      l->set_key(5);
      l->set_str(1 + str() % 19);
    }
    if (random.OneIn(2)) {
      auto* l = s->add_label();
      l->set_key(6);
      l->set_num(1 + random.Below(9));
      l->set_num_unit(str());
    }
    if (random.OneIn(3)) {
      auto* trace = s->add_label();
      trace->set_key(20);
      trace->set_str(22);
      auto* span = s->add_label();
      span->set_key(21);
      span->set_str(23);
    }
  }
  return p;
}

TEST(Pprof, RandomFilesSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Profile p = RandomPprof(seed);
    auto decoded = DecodePprof(Shared(p.SerializeAsString()), {});
    ASSERT_TRUE(decoded) << seed << ": " << decoded.error().message();
    ASSERT_TRUE(decoded->data.Validate());
    ASSERT_EQ(decoded->data.profiles.size(), static_cast<std::size_t>(p.sample_type_size()));
    auto encoded = EncodePprof(decoded->data);
    ASSERT_TRUE(encoded);
    ASSERT_EQ(DumpBytes(*encoded), Dump(p).Run()) << seed;
  }
}

TEST(Pprof, MappingsSayWhatAllTheirFramesHave) {
  Profile p = RandomPprof(1);
  p.clear_mapping();
  p.clear_location();
  p.clear_sample();
  p.clear_function();
  for (const bool file : {false, true}) {
    auto* f = p.add_function();
    f->set_id(file ? 2 : 1);
    f->set_name(1);
    if (file) f->set_filename(2);
  }
  const auto add = [&](std::uint64_t mapping, const std::vector<std::pair<int, int>>& lines) {
    auto* l = p.add_location();
    l->set_id(p.location_size());
    l->set_mapping_id(mapping);
    l->set_address(static_cast<std::uint64_t>(p.location_size()) * 16);
    for (const auto& [function, line] : lines) {
      l->add_line()->set_function_id(function);
      l->mutable_line(l->line_size() - 1)->set_line(line);
    }
  };
  for (std::uint64_t id = 1; id <= 5; ++id) p.add_mapping()->set_id(id);
  add(1, {{1, 0}});  // functions, and for one frame all there is
  add(1, {{2, 7}});
  add(2, {{1, 0}});  // one frame has no name
  add(2, {});
  add(3, {{2, 7}, {2, 8}});  // everything
  add(3, {{2, 9}});
  add(4, {{2, 0}});  // no line
  auto* s = p.add_sample();
  for (const auto& l : p.location()) s->add_location_id(l.id());
  for (int i = 0; i < p.sample_type_size(); ++i) s->add_value(1);
  const auto decoded = DecodePprof(Shared(p.SerializeAsString()), {});
  ASSERT_TRUE(decoded) << decoded.error().message();
  const auto flags = [&](bool named) {
    const auto encoded = EncodePprof(decoded->data, {.named = named});
    Profile out;
    EXPECT_TRUE(out.ParseFromString(*encoded));
    std::string text;
    for (const auto& m : out.mapping())
      text += fmt::format("{:d}{:d}{:d}{:d} ", m.has_functions(), m.has_filenames(),
                          m.has_line_numbers(), m.has_inline_frames());
    return text;
  };
  EXPECT_EQ(flags(true), "1000 0000 1111 1100 0000 ");
  EXPECT_EQ(flags(false), "0000 0000 0000 0000 0000 ");
}

TEST(Pprof, SurvivesTheWayThroughOtlp) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Profile p = RandomPprof(seed);
    auto decoded = DecodePprof(Shared(p.SerializeAsString()), {});
    ASSERT_TRUE(decoded);
    auto again = DecodeOtlpProfiles(Shared(EncodeOtlpProfiles(decoded->data)));
    ASSERT_TRUE(again) << again.error().message();
    ASSERT_EQ(again->rejected, 0U) << again->message;
    auto encoded = EncodePprof(again->data);
    ASSERT_TRUE(encoded);
    ASSERT_EQ(DumpBytes(*encoded), Dump(p).Run()) << seed;
  }
}

TEST(Pprof, ReadsAGoCpuProfile) {
  auto decoded = DecodePprof(Shared(testing::ReadFile("tests/golden/go_cpu.pb.gz")),
                             {.service = "shop", .labels = {{"zone", "a"}}});
  ASSERT_TRUE(decoded) << decoded.error().message();
  const profile::Batch& b = decoded->data;
  ASSERT_TRUE(b.Validate());
  ASSERT_EQ(b.profiles.size(), 2U);
  EXPECT_EQ(b.Text(b.profiles[0].sample_type.type), "samples");
  EXPECT_TRUE(b.profiles[0].has_cpu_sibling);
  EXPECT_EQ(b.Text(b.profiles[1].sample_type.type), "cpu");
  EXPECT_FALSE(b.profiles[1].has_cpu_sibling);
  EXPECT_EQ(profile::ServiceName(b, b.resources[1]), "shop");
  EXPECT_EQ(b.resources[1].attributes.count, 2U);
  // Labels trace_id and span_id became links and nothing else.
  EXPECT_GT(b.links.size(), 2U);
  for (const profile::Attribute& a : b.attributes) EXPECT_NE(b.Text(a.key), "span_id");
}

TEST(Pprof, LabelThatIsNoIdStaysALabel) {
  Profile p = RandomPprof(1);
  p.set_string_table(23, "not hex");
  auto* s = p.add_sample();
  for (int i = 0; i < p.sample_type_size(); ++i) s->add_value(1);
  auto* l = s->add_label();
  l->set_key(21);
  l->set_str(23);
  auto decoded = DecodePprof(Shared(p.SerializeAsString()), {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->data.samples.link.back(), 0U);
  EXPECT_EQ(decoded->data.samples.attributes.back().count, 1U);
}

std::string DecodeError(const Profile& p) {
  auto decoded = DecodePprof(Shared(p.SerializeAsString()), {});
  EXPECT_FALSE(decoded);
  if (decoded) return "";
  EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
  return decoded.error().message();
}

TEST(Pprof, ReferencesThatLeadNowhereAreCorrupt) {
  const Profile good = RandomPprof(3);
  Profile p = good;
  p.mutable_location(0)->set_mapping_id(999'999);
  EXPECT_EQ(DecodeError(p), "location[0]: mapping_id: there is no mapping 999999");
  p = good;
  p.mutable_function(0)->set_name(-4);
  EXPECT_NE(DecodeError(p).find("function[0]: string -4 is outside string_table"),
            std::string::npos);
  p = good;
  p.add_sample()->add_location_id(424242);
  for (int i = 0; i < p.sample_type_size(); ++i)
    p.mutable_sample(p.sample_size() - 1)->add_value(1);
  EXPECT_NE(DecodeError(p).find("location_id: there is no location 424242"), std::string::npos);
  p = good;
  p.add_sample()->add_value(1);
  for (int i = 0; i < p.sample_type_size(); ++i)
    p.mutable_sample(p.sample_size() - 1)->add_value(1);
  EXPECT_NE(DecodeError(p).find("sample types"), std::string::npos);
  p = good;
  p.mutable_function(0)->set_id(0);
  EXPECT_EQ(DecodeError(p), "function[0]: id 0 is 0 or not unique");
  p = good;
  p.clear_sample_type();
  EXPECT_NE(DecodeError(p).find("not a pprof file"), std::string::npos);
}

TEST(Pprof, NamesThatAreNotUtf8AreRepaired) {
  std::string bytes = RandomPprof(3).SerializeAsString();
  bytes[bytes.find("s7")] = '\xff';
  auto decoded = DecodePprof(Shared(bytes), {});
  ASSERT_TRUE(decoded);
  EXPECT_NE(decoded->message.find("string_table[7] is not UTF-8"), std::string::npos);
  EXPECT_TRUE(decoded->data.strings[7].starts_with("\xef\xbf\xbd"));
}

TEST(Pprof, ProfilesOfDifferentSamplesGetZerosInEachOthersColumns) {
  // Two requests' worth: cpu with one sample, alloc with another.
  auto decoded = DecodeFolded(Shared("main;a 5\nmain;b 7\n"), {});
  ASSERT_TRUE(decoded);
  profile::Batch& b = decoded->data;
  profile::Profile second = b.profiles[0];
  second.sample_type.type = b.AddText("alloc");
  second.first_sample = 1;
  second.sample_count = 1;
  b.profiles[0].sample_count = 1;
  b.profiles.push_back(second);
  auto encoded = EncodePprof(b);
  ASSERT_TRUE(encoded);
  Profile p;
  ASSERT_TRUE(p.ParseFromString(*encoded));
  ASSERT_EQ(p.sample_type_size(), 2);
  ASSERT_EQ(p.sample_size(), 2);
  EXPECT_EQ(p.sample(0).value(0), 5);
  EXPECT_EQ(p.sample(0).value(1), 0);
  EXPECT_EQ(p.sample(1).value(0), 0);
  EXPECT_EQ(p.sample(1).value(1), 7);
}

TEST(Gunzip, StopsAtItsLimit) {
  const std::string gz = testing::ReadFile("tests/golden/go_cpu.pb.gz");
  EXPECT_EQ(Gunzip(gz, 100).error().code(), Code::kLimit);
  EXPECT_EQ(Gunzip(gz, 100, true)->size(), 100U);
  EXPECT_EQ(Gunzip(gz.substr(0, gz.size() / 2), 1 << 20).error().code(), Code::kCorrupt);
  EXPECT_EQ(Gunzip(gz + gz, 1 << 20)->size(), 2 * Gunzip(gz, 1 << 20)->size());
}

// --- a second implementation reads our files -----------------------------------------------------

std::string RunCommand(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  pclose(pipe);
  return out;
}

TEST(Pprof, GoToolPrintsTheSameForOriginalAndExport) {
  if (RunCommand("go version 2>/dev/null").empty()) GTEST_SKIP() << "go is not installed";
  const std::string folder =
      (std::filesystem::temp_directory_path() / "pprof_test.XXXXXX").string();
  std::string name = folder;
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  for (const std::string file : {"go_cpu.pb.gz", "go_heap.pb.gz"}) {
    const std::string original = testing::ReadFile("tests/golden/" + file);
    auto decoded = DecodePprof(Shared(original), {});
    ASSERT_TRUE(decoded);
    std::ofstream(name + "/a", std::ios::binary) << original;
    std::ofstream(name + "/b", std::ios::binary) << *EncodePprof(decoded->data);
    for (const char* type : {"", "-sample_index=0", "-sample_index=1"}) {
      const auto top = [&](const char* which) {
        return RunCommand(fmt::format(
            "go tool pprof -symbolize=none -top -nodecount=1000 {} {}/{} 2>&1", type, name, which));
      };
      const std::string expected = top("a");
      EXPECT_NE(expected.find("flat%"), std::string::npos) << expected;
      EXPECT_EQ(expected, top("b")) << file << type;
    }
    EXPECT_EQ(RunCommand("go tool pprof -symbolize=none -traces " + name + "/a 2>&1"),
              RunCommand("go tool pprof -symbolize=none -traces " + name + "/b 2>&1"));
  }
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace wherefore::formats
