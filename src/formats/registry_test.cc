#include "formats/registry.h"

#include <zlib.h>

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "base/test_source.h"
#include "formats/testing.h"

namespace wherefore::formats {
namespace {

using testing::ReadFile;
using testing::Shared;

std::string KeyOf(std::string_view bytes) {
  const Format* const format = Recognise(bytes);
  return format == nullptr ? "" : std::string(format->key);
}

std::string Gzip(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// tests/files_test.py opens the same files with the program and the server.
TEST(Registry, EveryFormatHasASampleThatOpens) {
  std::set<std::string> keys;
  for (const Format& format : Formats()) {
    keys.emplace(format.key);
    const std::string bytes = ReadFile("tests/golden/formats/" + std::string(format.key));
    for (const std::string& file : {bytes, Gzip(bytes)}) {
      EXPECT_EQ(KeyOf(file), format.key);
      const auto content = DecodeFile(Shared(file), {.service = "shop"});
      ASSERT_TRUE(content) << format.key << ": " << content.error().message();
      if (const auto* profiles = std::get_if<DecodedProfiles>(&*content)) {
        EXPECT_TRUE(profiles->data.Validate()) << format.key;
        EXPECT_FALSE(profiles->data.samples.value.empty()) << format.key;
        EXPECT_EQ(profiles->rejected, 0U) << format.key << ": " << profiles->message;
      }
    }
    if (format.check != nullptr) {
      for (const Violation& v : format.check(bytes)) EXPECT_TRUE(v.warning) << v.path << v.text;
    }
  }
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TestSource("tests/golden/formats")))
    files.insert(entry.path().filename());
  EXPECT_EQ(files, keys);
}

TEST(Registry, WhatIsWrittenIsReadAsTheSameFormat) {
  auto content = DecodeFile(Shared(ReadFile("tests/golden/formats/pprof")), {});
  ASSERT_TRUE(content);
  for (const Format& format : Formats()) {
    if (format.encode == nullptr) continue;
    const auto bytes = format.encode(std::get<DecodedProfiles>(*content).data);
    ASSERT_TRUE(bytes) << format.key;
    EXPECT_EQ(KeyOf(*bytes), format.key);
  }
}

TEST(Registry, TellsFilesApartByContent) {
  EXPECT_EQ(KeyOf(ReadFile("tests/golden/vector.otlp")), "otlp");
  EXPECT_EQ(KeyOf(ReadFile("tests/golden/go_cpu.pb.gz")), "pprof");
  EXPECT_EQ(KeyOf(testing::RandomTraces(5).SerializeAsString()), "otlp-traces");
  EXPECT_EQ(KeyOf("  {\"resourceSpans\":[]}"), "otlp-traces-json");
  EXPECT_EQ(KeyOf("{\"resource_profiles\":[]}"), "otlp-json");
  EXPECT_EQ(KeyOf("main;a 5\nmain;b 7\n"), "folded");
  EXPECT_EQ(KeyOf("hello"), "");
  EXPECT_EQ(KeyOf(""), "");
  EXPECT_EQ(KeyOf("{\"a\":1}"), "");
  EXPECT_EQ(KeyOf(std::string("\x1f\x8b\x08", 3)), "");
  EXPECT_EQ(KeyOf(Gzip(Gzip("main;a 5\n"))), "");
}

// Names inside a file must not decide its format, only keys of the outermost object.
TEST(Registry, LooksAtTheOutermostKeysOfJson) {
  EXPECT_EQ(KeyOf(R"({"name":"dictionary","x":{"flamebearer":1,"y":["]}"]},"shared":{}})"),
            "speedscope");
  EXPECT_EQ(KeyOf(R"({"a\"":"resourceSpans" , "dictionary" : {}})"), "otlp-json");
  for (const char* text :
       {"{", "{\"", "{\"shared\"", "{\"shared\\", "{}{\"shared\":1}", "[{\"shared\":1}]"})
    EXPECT_EQ(KeyOf(text), "") << text;
}

TEST(Registry, SaysWhatItReads) {
  const auto content = DecodeFile(Shared("hello"), {});
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code(), Code::kInvalid);
  for (const Format& format : Formats())
    EXPECT_NE(content.error().message().find(format.name), std::string::npos) << format.name;
}

TEST(Registry, UnpacksWithinALimit) {
  const std::string member = Gzip(std::string(std::size_t{16} << 20, 'x'));
  std::string bomb;
  for (int i = 0; i < 17; ++i) bomb += member;
  EXPECT_EQ(DecodeFile(Shared(bomb), {}).error().code(), Code::kLimit);
}

}  // namespace
}  // namespace wherefore::formats
