// Names of frames when debug information comes after the first question, wherever it is kept.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/context.h"
#include "query/flame.h"
#include "query/list.h"
#include "store/test_queries.h"
#include "symbols/symbolizer.h"

namespace wherefore::query {
namespace {

constexpr const char* kProgram = R"(
inline int Inlined(int n) { int sum = 0; for (int i = 0; i < n; ++i) sum += n ^ i * sum; return sum; }
extern "C" __attribute__((noinline)) int outer(int n) { return Inlined(n) + 7; }
int main(int argc, char**) { return outer(argc * 1000); }
)";
constexpr const char* kBuildId = "0123456789abcdef0123";

std::string Output(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int c = 0; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

class LateSymbolsTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    folder_ = programs_.path();
    program_ = folder_ / "shop";
    std::ofstream(folder_ / "shop.cc") << kProgram;
    Output(
        fmt::format("cd {} && c++ -g -O2 -Wl,--build-id=0x{} -o shop shop.cc && objcopy "
                    "--only-keep-debug shop shop.debug && strip -g shop",
                    folder_.string(), kBuildId));
    address_ = std::stoull(Output(fmt::format("nm {} | grep ' outer$'", program_)), nullptr, 16);
    symbolizer_ = std::make_unique<symbols::Symbolizer>(symbols::SymbolizerOptions{
        .search_path = {folder_ / "symbols"}, .worker = {SYMBOLS_WORKER}, .search_again_ns = 1});
    context_ = std::make_unique<QueryContext>(reader(), symbolizer_.get());
    Put();
  }
  // One sample at every byte of the function: some are of the inlined one.
  void Put() {
    std::vector<store::BatchBuilder::Sample> samples;
    for (int i = 0; i < 64; ++i) samples.push_back({.stack = {fmt::format("f{}", i)}});
    auto request = store::BatchBuilder().Add({.time_ns = now_}, samples).Request("late");
    auto& batch = std::get<profile::Batch>(request.data);
    const auto reference = static_cast<std::uint32_t>(batch.attribute_refs.size());
    batch.attributes.push_back({batch.AddText("process.executable.build_id.gnu"),
                                0,
                                {profile::Value::Kind::kString, batch.AddText(kBuildId), 0}});
    batch.attribute_refs.push_back(static_cast<profile::Id>(batch.attributes.size() - 1));
    batch.mappings[1] = {0, 0, 0, batch.AddText(program_), {reference, 1}};
    for (std::size_t i = 1; i < batch.frames.size(); ++i) {
      batch.frames[i].address = address_ + i;
      batch.frames[i].lines = {};
    }
    Write(std::move(request));
    Flush();
  }
  void DebugFileComes() {
    const auto tree = folder_ / "symbols" / ".build-id" / std::string(kBuildId).substr(0, 2);
    std::filesystem::create_directories(tree);
    std::filesystem::rename(folder_ / "shop.debug",
                            tree / (std::string(kBuildId).substr(2) + ".debug"));
  }
  bool Shows(std::string_view name) {
    const auto flame = Flame(*context_, {.type = "samples", .range = {0, now_ + kNsPerSecond}}, {});
    EXPECT_TRUE(flame) << flame.error().message();
    return flame && std::ranges::any_of(flame->tree.functions, [&](const auto& function) {
             return function.name.starts_with(name);
           });
  }

  const TestDirectory programs_{std::filesystem::temp_directory_path()};
  std::filesystem::path folder_;
  std::string program_;
  std::uint64_t address_ = 0;
  std::unique_ptr<symbols::Symbolizer> symbolizer_;
  std::unique_ptr<QueryContext> context_;
};

TEST_P(LateSymbolsTest, ATrieTakesTheNamesOfADebugFileThatComesLater) {
  EXPECT_TRUE(Shows("outer"));
  EXPECT_FALSE(Shows("Inlined"));
  const std::string file = folder_ / "shop.cc";
  const Selection all{.type = "samples", .range = {0, now_ + kNsPerSecond}};
  EXPECT_FALSE(NamesFile(*context_, all, file, {}).value_or(true));
  DebugFileComes();
  EXPECT_TRUE(Shows("Inlined"));
  EXPECT_TRUE(NamesFile(*context_, all, file, {}).value_or(false));
}

WHEREFORE_ASK_WHEREVER_IT_CAN(LateSymbolsTest);

}  // namespace
}  // namespace wherefore::query
