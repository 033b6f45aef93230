#include "symbols/symbolizer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "elf/testing.h"
#include "symbols/confine.h"

namespace wherefore::symbols {
namespace {

constexpr const char* kProgram = R"(
#include <cstdio>
#include <string>
#include <vector>
namespace shop {
namespace {
inline int Scale(int price, int factor) {
  int sum = 0;
  for (int i = 0; i < factor; ++i) sum += price ^ i;
  return sum;
}
}  // namespace
struct Cart {
  std::vector<int> prices;
  int Total(int factor) const;
};
inline int Clamp(int value) { return value > 1000 ? Scale(value, 3) : value; }
__attribute__((noinline)) int Cart::Total(int factor) const {
  int total = 0;
  for (int price : prices) total += Clamp(Scale(price, factor));
  return total;
}
template <typename T>
__attribute__((noinline)) T Twice(T value) { return value + Clamp(value); }
}  // namespace shop
static __attribute__((noinline)) int Hidden(int n) { return n * 7 + (int)std::to_string(n).size(); }
int main(int argc, char** argv) {
  shop::Cart cart;
  for (int i = 0; i < argc + 10; ++i) cart.prices.push_back(i * 100);
  std::printf("%d %d %d\n", cart.Total(argc), shop::Twice(argc), Hidden(argc));
}
)";

using elf::Output;

class SymbolizerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "wherefore-symbols-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "shop.cc") << kProgram;
    Build("-g -O2");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Build(const std::string& flags) {
    program_ = folder_ / "shop";
    Output("cd " + folder_.string() + " && c++ -std=c++17 -Wl,--build-id " + flags +
           " -o shop shop.cc");
    auto file = elf::ElfFile::Open(program_);
    ASSERT_TRUE(file) << file.error().message();
    build_id_ = ToHex(file->build_id());
    text_ = *file->FindSection(".text");
  }

  [[nodiscard]] SymbolizerOptions Options() const {
    return {.search_path = {}, .worker = {SYMBOLS_WORKER}};
  }

  [[nodiscard]] std::vector<ModuleAddress> TextAddresses() const {
    std::vector<ModuleAddress> out;
    out.reserve(text_.size);
    for (std::uint64_t at = 0; at < text_.size; ++at) out.push_back({text_.address + at});
    return out;
  }

  Symbolizer::Answer Ask(Symbolizer& symbolizer, std::span<const ModuleAddress> addresses) {
    return symbolizer.Resolve({build_id_, program_}, addresses, MonotonicNs() + 20 * kNsPerSecond);
  }

  std::filesystem::path folder_;
  std::string program_;
  std::string build_id_;
  elf::Section text_;
};

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

// "name file:line" per inline level, innermost first.
std::vector<std::vector<std::string>> ByAddr2line(const std::string& program,
                                                  std::span<const ModuleAddress> addresses) {
  std::ostringstream list;
  for (const ModuleAddress& address : addresses) list << std::hex << "0x" << address.value << "\n";
  const std::string file = program + ".addresses";
  std::ofstream(file) << list.str();
  std::istringstream lines(Output("addr2line -a -f -i -C -e " + program + " < " + file));
  std::vector<std::vector<std::string>> out;
  std::string line, place;
  while (std::getline(lines, line)) {
    if (line.starts_with("0x") && line.find(' ') == std::string::npos) {
      out.emplace_back();
      continue;
    }
    std::getline(lines, place);
    place = place.substr(0, place.find(" (discriminator"));
    out.back().push_back(line.substr(0, line.find('(')) + " " + place);
  }
  return out;
}

std::string BareName(std::string name) {
  if (const auto at = name.find("(anonymous namespace)::"); at != std::string::npos) {
    name.erase(at, 23);
  }
  return name.substr(0, name.find('('));
}

// Every level at the same place with the same name. addr2line gives the innermost level of
// functions without a linkage name the name of their outermost caller.
bool SameFrame(const ResolvedFrame& ours, const std::vector<std::string>& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::size_t space = theirs[i].rfind(' ');
    const std::string name = theirs[i].substr(0, space);
    const bool nameless = i == 0 && theirs.size() > 1 && ours[0].system_name.empty() &&
                          name == theirs.back().substr(0, theirs.back().rfind(' '));
    const std::string place = ours[i].file + ":" + std::to_string(ours[i].line);
    if (theirs[i].substr(space + 1) != place) return false;
    if (!nameless && !BareName(ours[i].name).ends_with(BareName(name))) return false;
  }
  return true;
}

TEST_F(SymbolizerTest, AgreesWithAddr2line) {
  for (const char* const flags : {"-g -O2", "-g -O1 -gdwarf-4", "-g -O3 -no-pie"}) {
    Build(flags);
    Symbolizer symbolizer(Options());
    const auto addresses = TextAddresses();
    const auto answer = Ask(symbolizer, addresses);
    const auto expected = ByAddr2line(program_, addresses);
    ASSERT_EQ(expected.size(), addresses.size());
    std::size_t compared = 0, same = 0, inlined = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (expected[i][0].find("/shop.cc:") == std::string::npos) continue;
      ++compared;
      ASSERT_NE(answer.frames[i], nullptr) << expected[i][0];
      const ResolvedFrame& ours = *answer.frames[i];
      const bool equal = SameFrame(ours, expected[i]);
      same += equal ? 1 : 0;
      inlined += ours.size() > 1 ? 1 : 0;
      if (!equal && compared - same < 5) {
        printf("0x%lx: ours %s %s:%u (%zu), theirs %s (%zu)\n", addresses[i].value,
               ours[0].name.c_str(), ours[0].file.c_str(), ours[0].line, ours.size(),
               expected[i][0].c_str(), expected[i].size());
      }
    }
    printf("%s: %zu of %zu addresses as addr2line has them, %zu inside inlined calls\n", flags,
           same, compared, inlined);
    EXPECT_GT(compared, 100u);
    EXPECT_GT(inlined, 20u);
    EXPECT_GE(same, compared * 99 / 100);
  }
}

TEST_F(SymbolizerTest, NamesAreThoseOfTheLinkerAndLinesThoseOfTheSource) {
  Symbolizer symbolizer(Options());
  const auto answer = Ask(symbolizer, TextAddresses());
  std::map<std::string, ResolvedLine> by_name;
  for (const auto& frame : answer.frames) {
    if (frame == nullptr) continue;
    for (const ResolvedLine& line : *frame) by_name[line.name] = line;
  }
  ASSERT_TRUE(by_name.contains("shop::Cart::Total(int) const"));
  const ResolvedLine& total = by_name["shop::Cart::Total(int) const"];
  EXPECT_EQ(total.system_name, "_ZNK4shop4Cart5TotalEi");
  EXPECT_EQ(total.file, folder_ / "shop.cc");
  EXPECT_GE(total.line, 18u);
  EXPECT_LE(total.line, 22u);
  EXPECT_TRUE(by_name.contains("int shop::Twice<int>(int)"));
  EXPECT_TRUE(by_name.contains("Hidden(int)"));
  EXPECT_TRUE(by_name.contains("shop::Clamp(int)"));
  EXPECT_TRUE(by_name.contains("shop::(anonymous namespace)::Scale"));  // inlined everywhere
  EXPECT_EQ(by_name["main"].start_line, 27u);
}

TEST_F(SymbolizerTest, FileOffsetsAreAddressesInTheFile) {
  Symbolizer symbolizer(Options());
  const ModuleAddress by_address{text_.address + text_.size / 2};
  const ModuleAddress by_offset{text_.offset + text_.size / 2, true};
  const auto answer = Ask(symbolizer, std::vector{by_address, by_offset});
  ASSERT_NE(answer.frames[0], nullptr);
  EXPECT_EQ(answer.frames[0], answer.frames[1]);
}

TEST_F(SymbolizerTest, OnlyAFileWithTheSameBuildIdCounts) {
  Symbolizer symbolizer(Options());
  const std::string first = build_id_;
  Build("-g -O0");  // the file has changed since the profile was taken
  ASSERT_NE(build_id_, first);
  const std::vector<ModuleAddress> addresses{{text_.address}};
  const auto answer =
      symbolizer.Resolve({first, program_}, addresses, MonotonicNs() + kNsPerSecond);
  EXPECT_EQ(answer.frames[0], nullptr);
  EXPECT_FALSE(answer.postponed);
  EXPECT_NE(Ask(symbolizer, addresses).frames[0], nullptr);
}

// A stripped program with its debug information in a .build-id tree elsewhere.
TEST_F(SymbolizerTest, DebugFileOnTheSymbolPath) {
  SymbolizerOptions options = Options();
  options.search_path = {folder_ / "symbols"};
  const auto tree = folder_ / "symbols" / ".build-id" / build_id_.substr(0, 2);
  std::filesystem::create_directories(tree);
  const std::string debug = tree / (build_id_.substr(2) + ".debug");
  Output("objcopy --only-keep-debug " + program_ + " " + debug);
  Output("strip " + program_);
  Symbolizer symbolizer(options);
  const std::vector<ModuleAddress> addresses{{text_.address + text_.size / 2}};
  const auto answer = Ask(symbolizer, addresses);
  ASSERT_NE(answer.frames[0], nullptr);
  EXPECT_NE(answer.frames[0]->front().line, 0u);
  // The same without the program itself.
  std::filesystem::remove(program_);
  Symbolizer without(options);
  const auto by_debug_file = Ask(without, addresses);
  ASSERT_NE(by_debug_file.frames[0], nullptr);
  EXPECT_EQ(by_debug_file.frames[0]->front().line, answer.frames[0]->front().line);
}

class LateSymbolsTest : public SymbolizerTest {
 protected:
  // A program without debug information, and its debug file elsewhere.
  void SetUp() override {
    SymbolizerTest::SetUp();
    Output("objcopy --only-keep-debug " + program_ + " " + program_ + ".debug");
    Output("strip -g " + program_);
  }
  void DebugFileComes() {
    const auto tree = folder_ / "symbols" / ".build-id" / build_id_.substr(0, 2);
    std::filesystem::create_directories(tree);
    std::filesystem::rename(program_ + ".debug", tree / (build_id_.substr(2) + ".debug"));
  }
  [[nodiscard]] SymbolizerOptions Soon(std::int64_t search_again_ns) const {
    SymbolizerOptions options = Options();
    options.search_path = {folder_ / "symbols"};
    options.search_again_ns = search_again_ns;
    return options;
  }
  [[nodiscard]] std::vector<ModuleAddress> Somewhere() const {
    return {{text_.address + text_.size / 2}};
  }
  [[nodiscard]] bool NewsCome(Symbolizer& symbolizer, std::uint64_t version) const {
    const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
    while (MonotonicNs() < end) {
      if (symbolizer.HasNews({build_id_, program_}, version, INT64_MAX)) return true;
    }
    return false;
  }
  static std::string Searches(const Symbolizer& symbolizer) {
    for (const auto& [name, value] : symbolizer.status().facts) {
      if (name == "searches for files") return value;
    }
    return {};
  }
};

TEST_F(LateSymbolsTest, ADebugFileThatComesLaterIsFound) {
  Symbolizer symbolizer(Soon(1'000'000));
  const auto before = Ask(symbolizer, Somewhere());
  ASSERT_NE(before.frames[0], nullptr);
  EXPECT_EQ(before.frames[0]->front().line, 0u);
  EXPECT_FALSE(before.settled);
  EXPECT_FALSE(symbolizer.HasNews({build_id_, program_}, before.version, INT64_MAX));
  DebugFileComes();
  EXPECT_TRUE(NewsCome(symbolizer, before.version));
  const auto after = Ask(symbolizer, Somewhere());
  ASSERT_NE(after.frames[0], nullptr);
  EXPECT_NE(after.frames[0]->front().line, 0u);
  EXPECT_TRUE(after.settled);
  EXPECT_FALSE(symbolizer.HasNews({build_id_, program_}, after.version, INT64_MAX));
}

TEST_F(LateSymbolsTest, AProgramThatComesLaterIsFound) {
  std::filesystem::rename(program_, program_ + ".away");
  Symbolizer symbolizer(Soon(1'000'000));
  const auto before = Ask(symbolizer, Somewhere());
  EXPECT_EQ(before.frames[0], nullptr);
  std::filesystem::rename(program_ + ".away", program_);
  EXPECT_TRUE(NewsCome(symbolizer, before.version));
  EXPECT_NE(Ask(symbolizer, Somewhere()).frames[0], nullptr);
}

TEST_F(LateSymbolsTest, SearchesLessAndLessOften) {
  Symbolizer symbolizer(Soon(20'000'000));
  const std::int64_t end = MonotonicNs() + kNsPerSecond;
  int questions = 0;
  for (; MonotonicNs() < end; ++questions) (void)Ask(symbolizer, Somewhere());
  EXPECT_GT(questions, 1000);
  const int searches = std::stoi(Searches(symbolizer));  // at 0, 20, 60, 140, 300, 620 ms
  EXPECT_GE(searches, 3);
  EXPECT_LE(searches, 6);
}

TEST_F(LateSymbolsTest, WhatBrokeTheWorkerIsLeftAloneForAWhile) {
  SymbolizerOptions options = Soon(1);
  options.worker = {"/bin/false"};
  Symbolizer symbolizer(options);
  const auto failed = Ask(symbolizer, Somewhere());
  EXPECT_EQ(failed.frames[0], nullptr);
  EXPECT_FALSE(failed.settled);
  // The ten minutes are not over.
  EXPECT_FALSE(symbolizer.HasNews({build_id_, program_}, failed.version, INT64_MAX));
}

TEST_F(SymbolizerTest, WithoutDebugInformationTheSymbolTableNames) {
  Build("-O2");
  Symbolizer symbolizer(Options());
  const auto answer = Ask(symbolizer, TextAddresses());
  bool found = false;
  for (const auto& frame : answer.frames) {
    found |= frame != nullptr && frame->front().name == "shop::Cart::Total(int) const" &&
             frame->front().line == 0;
  }
  EXPECT_TRUE(found);
}

// A worker that hangs costs its time limit once; one that crashes costs nothing more.
TEST_F(SymbolizerTest, AHangingOrDyingWorkerOnlyCostsNames) {
  const std::vector<ModuleAddress> addresses{{text_.address}};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"/bin/sleep", "1000"}, {"/bin/false"}, {"/nowhere/worker"}}) {
    SymbolizerOptions options = Options();
    options.worker = command;
    options.answer_limit_ns = 200'000'000;
    Symbolizer symbolizer(options);
    const std::int64_t started = MonotonicNs();
    EXPECT_EQ(Ask(symbolizer, addresses).frames[0], nullptr);
    EXPECT_EQ(Ask(symbolizer, addresses).frames[0], nullptr);
    EXPECT_LT(MonotonicNs() - started, 10 * kNsPerSecond);
    EXPECT_EQ(symbolizer.status().problems.size(), 1u);
  }
}

TEST_F(SymbolizerTest, AQuestionOutOfTimeIsPostponed) {
  Symbolizer symbolizer(Options());
  const std::vector<ModuleAddress> addresses{{text_.address}};
  const auto late = symbolizer.Resolve({build_id_, program_}, addresses, MonotonicNs() - 1);
  EXPECT_TRUE(late.postponed);
  EXPECT_EQ(late.frames[0], nullptr);
  EXPECT_NE(Ask(symbolizer, addresses).frames[0], nullptr);
}

// Damaged copies of a real file, byte by byte: there is always an answer.
TEST_F(SymbolizerTest, DamagedFiles) {
  const std::string bytes = ReadAll(program_);
  auto file = elf::ElfFile::Open(program_);
  ASSERT_TRUE(file);
  const auto addresses = TextAddresses();
  std::uint32_t random = 12345;
  for (const char* const name :
       {".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists"}) {
    const elf::Section* const section = file->FindSection(name);
    if (section == nullptr) continue;
    for (int round = 0; round < 6; ++round) {
      std::string damaged = bytes;
      for (int k = 0; k < 40; ++k) {
        random = random * 1664525 + 1013904223;
        damaged[section->offset + random % section->size] ^= static_cast<char>(random >> 24);
      }
      std::ofstream(program_, std::ios::binary)
          .write(damaged.data(), static_cast<long>(damaged.size()));
      SymbolizerOptions options = Options();
      options.answer_limit_ns = kNsPerSecond;
      Symbolizer symbolizer(options);
      const std::int64_t started = MonotonicNs();
      EXPECT_EQ(Ask(symbolizer, addresses).frames.size(), addresses.size());
      EXPECT_LT(MonotonicNs() - started, 20 * kNsPerSecond);
    }
  }
}

TEST_F(SymbolizerTest, ManyThreadsAtOnceWithinItsMemory) {
  SymbolizerOptions options = Options();
  options.cache_bytes = 100'000;
  Symbolizer symbolizer(options);
  const auto addresses = TextAddresses();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t * 10; i + 10 < addresses.size(); i += 50) {
        const auto answer = Ask(symbolizer, std::span(addresses).subspan(i, 10));
        EXPECT_EQ(answer.frames.size(), 10u);
        EXPECT_FALSE(answer.postponed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(symbolizer.status().problems.empty());
}

// A program that was replaced after it was found.
TEST_F(SymbolizerTest, NamesOfAProgramThatWasReplacedAreNotTheOthers) {
  const std::vector<ModuleAddress> first{{text_.address + text_.size / 2}};
  const std::vector<ModuleAddress> second{{text_.address + text_.size / 3}};
  Symbolizer symbolizer(Options());
  ASSERT_NE(Ask(symbolizer, first).frames[0], nullptr);
  const std::string id = build_id_;
  // Eight other modules make the worker close what it has open.
  const std::string bytes = ReadAll(program_);
  const std::size_t at = bytes.find(*FromHex(id));
  for (int i = 1; i <= 8; ++i) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ i);  // never the program's own id
    program_ = folder_ / "other";
    build_id_ = ToHex(other.substr(at, id.size() / 2));
    std::ofstream(program_, std::ios::binary) << other;
    ASSERT_NE(Ask(symbolizer, first).frames[0], nullptr);
  }
  Build("-g -O0");
  const auto answer = symbolizer.Resolve({id, program_}, second, MonotonicNs() + 20 * kNsPerSecond);
  EXPECT_EQ(answer.frames[0], nullptr);
  EXPECT_TRUE(symbolizer.status().problems.empty());
}

TEST_F(SymbolizerTest, ADamagedAnswerOfTheWorkerIsNone) {
  const std::vector<ResolvedFrame> frames = {{{.name = "a", .file = "f", .line = 3}, {.name = "b"}},
                                             {}};
  const std::string good = EncodeFrames(frames);
  ASSERT_TRUE(DecodeFrames(good, 2));
  EXPECT_EQ((*DecodeFrames(good, 2))[0][1].name, "b");
  const ModuleFiles files{"p", "d", {{.offset = 1, .address = 2, .executable = true}}};
  const std::string found = EncodeFiles(files);
  ASSERT_TRUE(DecodeFiles(found));
  EXPECT_TRUE(DecodeFiles(found)->segments[0].executable);
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(DecodeFrames(good.substr(0, cut), 2)) << cut;
  for (std::size_t cut = 0; cut < found.size(); ++cut)
    EXPECT_FALSE(DecodeFiles(found.substr(0, cut))) << cut;
  EXPECT_EQ(DecodeFiles(EncodeError("why")).error().code(), Code::kNotFound);
  EXPECT_EQ(DecodeFrames("\2", 0).error().code(), Code::kCorrupt);
  std::uint32_t random = 7;
  for (int i = 0; i < 20'000; ++i) {  // arbitrary bytes from a compromised worker
    std::string bad = i % 2 == 0 ? good : found;
    random = random * 1664525 + 1013904223;
    bad[(random >> 8) % bad.size()] ^= static_cast<char>(random >> 24);
    (void)DecodeFrames(bad, 2);
    (void)DecodeFiles(bad);
  }
}

class ModuleFilesTest : public SymbolizerTest {
 protected:
  [[nodiscard]] bool Finds(const std::string& path) const {
    return FindModuleFiles(build_id_, path, {}).has_value();
  }
};

TEST_F(ModuleFilesTest, WhereAPathLeadsDecidesNotHowItLooks) {
  // A program below /dev, which is never searched.
  std::string pattern = "/dev/shm/wherefore-XXXXXX";
  const std::filesystem::path devices = mkdtemp(pattern.data());
  std::filesystem::copy_file(program_, devices / "shop");
  std::filesystem::create_symlink(devices / "shop", folder_ / "link");
  std::filesystem::create_directory_symlink(devices, folder_ / "folder");
  const std::string path = devices / "shop";
  for (const std::string& disguised :
       {path, "/" + path, "/." + path, "//" + path, "/tmp/.." + path, "/dev/./" + path.substr(5),
        "/dev//" + path.substr(5), (folder_ / "link").string(),
        (folder_ / "folder" / "shop").string(), "/proc/self/root" + path}) {
    EXPECT_FALSE(Finds(disguised)) << disguised;
  }
  std::filesystem::remove_all(devices);
  EXPECT_FALSE(Finds("/proc/self/exe"));
  EXPECT_FALSE(Finds("//proc/self/exe"));
  EXPECT_FALSE(Finds("/sys/kernel/notes"));
  // An existing file is found, however its path is written.
  std::filesystem::create_symlink(program_, folder_ / "good");
  EXPECT_TRUE(Finds(program_));
  EXPECT_TRUE(Finds("/." + program_));
  EXPECT_TRUE(Finds(folder_ / "good"));
}

// Only regular files are opened: opening a device or a pipe has side effects.
TEST_F(ModuleFilesTest, WhatIsNoRegularFileIsNotOpened) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Descriptor notes(inotify_init1(IN_NONBLOCK));
  ASSERT_GE(inotify_add_watch(notes.get(), folder_.c_str(), IN_OPEN), 0);
  std::array<char, 4096> events{};
  EXPECT_FALSE(Finds(pipe));
  EXPECT_FALSE(OpenRegularFile(pipe));
  EXPECT_LT(read(notes.get(), events.data(), events.size()), 0) << "it was opened";
  EXPECT_TRUE(Finds(program_));
  EXPECT_GT(read(notes.get(), events.data(), events.size()), 0);
}

TEST(ModuleFiles, RefusesPathsThatLeadElsewhere) {
  const std::string id(40, 'a');
  EXPECT_FALSE(FindModuleFiles(id, "/dev/zero", {}));
  EXPECT_FALSE(FindModuleFiles(id, "/proc/self/exe", {}));
  EXPECT_FALSE(FindModuleFiles(id, "../../etc/passwd", {"/tmp"}));
  EXPECT_FALSE(FindModuleFiles("not hex", "/bin/true", {}));
  EXPECT_FALSE(FindModuleFiles("", "/bin/true", {}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Names what a confined process could still do; "" if nothing.
std::string TryEverything(const char* writable, const char* readable) {
  const auto refused = [](long result) { return result < 0 && errno == EPERM; };
  if (!ConfineToReading()) return "confine";
  if (!refused(open(writable, O_WRONLY | O_CREAT, 0600))) return "open to write";
  if (!refused(open(readable, O_RDWR))) return "open to read and write";
  if (!refused(open(readable, O_RDONLY | O_TRUNC))) return "truncate";
  if (!refused(unlink(readable))) return "unlink";
  if (!refused(socket(AF_INET, SOCK_STREAM, 0))) return "socket";
  if (!refused(fork())) return "fork";
  if (!refused(execl("/bin/true", "true", nullptr))) return "execute";
  if (!refused(kill(getppid(), 0))) return "signal";
  if (!refused(syscall(SYS_ptrace, 0, 0, 0, 0))) return "ptrace";
  if (!refused(prctl(PR_SET_DUMPABLE, 1))) return "prctl";
  if (!refused(fcntl(0, F_SETOWN, getppid()))) return "have signals sent";
  if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    return "map code";
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return "no memory";
  if (!refused(mprotect(page, 4096, PROT_READ | PROT_EXEC))) return "make code";
  if (!OpenRegularFile(readable)) return "no reading";
  return "";
}

TEST_F(SymbolizerTest, AConfinedProcessCanReadAndNothingElse) {
  const std::string writable = folder_ / "written";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string failed = TryEverything(writable.c_str(), program_.c_str());
    (void)!write(ends[1], failed.data(), failed.size());
    _exit(0);
  }
  close(ends[1]);
  std::array<char, 256> said{};
  EXPECT_EQ(read(ends[0], said.data(), said.size()), 0) << said.data();
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(writable));
}

TEST_F(SymbolizerTest, WhereConfinementIsRefusedItWorksAndSaysSo) {
  SymbolizerOptions options = Options();
  const std::vector<ModuleAddress> addresses{{text_.address + text_.size / 2}};
  Symbolizer confined(options);
  EXPECT_NE(Ask(confined, addresses).frames[0], nullptr);
  EXPECT_TRUE(confined.status().problems.empty());
  options.worker.emplace_back("without-seccomp");
  Symbolizer unconfined(options);
  EXPECT_NE(Ask(unconfined, addresses).frames[0], nullptr);
  ASSERT_EQ(unconfined.status().problems.size(), 1u);
  EXPECT_EQ(unconfined.status().problems[0].what,
            "files of profiled programs are read without a sandbox: seccomp was refused: "
            "Operation not permitted");
}

#endif

}  // namespace
}  // namespace wherefore::symbols
