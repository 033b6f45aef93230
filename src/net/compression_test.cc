#include "net/compression.h"

#include <zlib.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/gzip.h"

namespace wherefore::net {
namespace {

std::string Deflate(std::string_view bytes, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string SomeText(std::size_t size) {
  std::string text;
  for (std::uint32_t i = 0; text.size() < size; ++i) text += fmt::format("{} ", i * 2654435761u);
  text.resize(size);
  return text;
}

TEST(Compression, EveryEncodingGivesTheSameBytesBack) {
  for (const std::size_t size : {0, 1, 1000, 300'000}) {
    const std::string text = SomeText(size);
    EXPECT_EQ(Decompress("gzip", Gzip(text), size).value(), text);
    EXPECT_EQ(Decompress("X-GZip", Gzip(text), size).value(), text);
    EXPECT_EQ(Decompress("zstd", Zstd(text), size).value(), text);
    EXPECT_EQ(Decompress("deflate", Deflate(text, 15), size).value(), text) << "zlib";
    EXPECT_EQ(Decompress("deflate", Deflate(text, -15), size).value(), text) << "raw";
    EXPECT_EQ(Decompress("identity", text, size).value(), text);
    EXPECT_EQ(Decompress("", text, size).value(), text);
  }
}

TEST(Compression, ZlibReadsWhatLibdeflateWritesAndTheOtherWayRound) {
  for (const std::size_t size : {0, 1, 1000, 300'000}) {
    const std::string text = SomeText(size);
    EXPECT_EQ(GunzipWhole(Deflate(text, 15 + 16), size).value(), text);
    for (const int level : {1, 6, 9}) {
      // As a second member it is zlib's to read.
      EXPECT_EQ(Decompress("gzip", Gzip("x") + Gzip(text, level), size + 1).value(), "x" + text);
    }
  }
}

TEST(Compression, ATrailerThatLiesCostsNoMemoryAndNoCorrectness) {
  const std::string text = SomeText(10'000);
  std::string packed = Gzip(text);
  EXPECT_FALSE(GunzipWhole(packed, 9'999)) << "over the limit";
  EXPECT_FALSE(GunzipWhole(packed + packed, 1 << 20)) << "two members";
  EXPECT_FALSE(GunzipWhole(Gzip(std::string(1 << 20, 'x')), 1 << 20)) << "a bomb";
  for (const char size : {'\x01', '\x7f', '\xff'}) {
    packed[packed.size() - 4] = packed.back() = size;
    EXPECT_FALSE(GunzipWhole(packed, std::size_t{1} << 32));
    EXPECT_EQ(Decompress("gzip", packed, 1 << 20).error().code(), Code::kCorrupt);
  }
  for (std::size_t size = 0; size < 40; ++size)
    EXPECT_FALSE(GunzipWhole(std::string_view(packed).substr(0, size), 1 << 20));
}

TEST(Compression, OneByteOverTheLimitIsRefused) {
  const std::string text = SomeText(50'000);
  for (const auto& [encoding, bytes] :
       std::map<std::string, std::string>{{"gzip", Gzip(text)},
                                          {"zstd", Zstd(text)},
                                          {"deflate", Deflate(text, 15)},
                                          {"identity", text}}) {
    EXPECT_TRUE(Decompress(encoding, bytes, 50'000)) << encoding;
    const auto result = Decompress(encoding, bytes, 49'999);
    ASSERT_FALSE(result) << encoding;
    EXPECT_EQ(result.error().code(), Code::kLimit) << encoding;
  }
}

TEST(Compression, ABombStopsAtTheLimit) {
  const std::string zeros(64u << 20, '\0');
  EXPECT_EQ(Decompress("gzip", Gzip(zeros), 1 << 20).error().code(), Code::kLimit);
  EXPECT_EQ(Decompress("zstd", Zstd(zeros), 1 << 20).error().code(), Code::kLimit);
}

TEST(Compression, SeveralMembersAndFramesAreOneBody) {
  EXPECT_EQ(Decompress("gzip", Gzip("one ") + Gzip("") + Gzip("two"), 100).value(), "one two");
  EXPECT_EQ(Decompress("zstd", Zstd("one ") + Zstd("") + Zstd("two"), 100).value(), "one two");
}

TEST(Compression, EveryTruncationIsReportedAsDamage) {
  const std::string text = SomeText(300);
  for (const auto& [encoding, bytes] : std::map<std::string, std::string>{
           {"gzip", Gzip(text)}, {"zstd", Zstd(text)}, {"deflate", Deflate(text, -15)}}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto result = Decompress(encoding, std::string_view(bytes).substr(0, size), 1000);
      ASSERT_FALSE(result) << encoding << " " << size;
      EXPECT_EQ(result.error().code(), Code::kCorrupt);
    }
  }
}

TEST(Compression, GarbageAndTrailingBytesAreDamage) {
  EXPECT_EQ(Decompress("gzip", "this is not gzip", 100).error().code(), Code::kCorrupt);
  EXPECT_EQ(Decompress("zstd", "this is not zstd", 100).error().code(), Code::kCorrupt);
  EXPECT_EQ(Decompress("gzip", Gzip("x") + "rest", 100).error().code(), Code::kCorrupt);
  EXPECT_EQ(Decompress("zstd", Zstd("x") + "rest", 100).error().code(), Code::kCorrupt);
  EXPECT_EQ(Decompress("deflate", Deflate("x", 15) + "rest", 100).error().code(), Code::kCorrupt);
}

TEST(Compression, AnUnknownEncodingIsNamed) {
  const auto result = Decompress("br", "x", 100);
  EXPECT_EQ(result.error().code(), Code::kUnsupported);
  EXPECT_NE(result.error().message().find("\"br\""), std::string::npos);
}

}  // namespace
}  // namespace wherefore::net
