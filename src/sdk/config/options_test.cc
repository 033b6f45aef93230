#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_source.h"
#include "sdk/config/endpoint.h"
#include "sdk/config/load_options.h"
#include "sdk/config/variables.h"

namespace wherefore::sdk {
namespace {

using Environment = std::map<std::string, std::string>;

LoadedOptions Load(const Environment& environment, const std::string& file = {},
                   const std::function<void(Options&)>& code = {}) {
  return LoadOptions(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      file, code);
}

// A file that is gone when the test ends.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("wherefore-options-{}.yaml", getpid())) {
    std::ofstream(path_) << text;
  }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  ~ConfigFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string Golden(const char* name) {
  return TestSource("tests/golden/sdk/") + name;
}

TEST(Options, DefaultsNeedNothing) {
  const LoadedOptions loaded = Load({});
  EXPECT_TRUE(loaded.warnings.empty());
  EXPECT_EQ(loaded.options.service_name, "sdk_test");
  EXPECT_EQ(loaded.options.profiles_url, "http://127.0.0.1:4318/v1development/profiles");
  EXPECT_EQ(loaded.options.traces_url, "http://127.0.0.1:4318/v1/traces");
  for (const TypeOptions& type : loaded.options.types) EXPECT_TRUE(type.enabled);
  EXPECT_EQ(loaded.options.of(Type::kHeap).rate, 512 * 1024);
  EXPECT_FALSE(loaded.options.conditional.active());
}

TEST(Options, ReadsTheProductionFileAsWritten) {
  const LoadedOptions loaded = Load({{"WHEREFORE_CONFIG", Golden("production.yaml")}});
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{});
  const Options& o = loaded.options;
  EXPECT_EQ(o.of(Type::kCpu), (TypeOptions{true, 100}));
  EXPECT_EQ(o.of(Type::kHeap), (TypeOptions{true, 512'000}));
  EXPECT_EQ(o.conditional, (Conditional{1'000'000'000, 0.8, true}));
}

TEST(Options, ReadsTheLowOverheadFileAsWritten) {
  const LoadedOptions loaded = Load({{"WHEREFORE_CONFIG", Golden("low_overhead.yaml")}});
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{});
  const Options& o = loaded.options;
  EXPECT_EQ(o.of(Type::kHeap).rate, 1'000'000);
  EXPECT_EQ(o.max_stack_depth, 64U);
  EXPECT_TRUE(o.max_stack_depth_set);
  EXPECT_EQ(o.max_profile_bytes, 10'000'000);
  EXPECT_EQ(o.upload_interval_ns, 10'000'000'000);
  EXPECT_EQ(o.load_shedding, (LoadThresholds{true, 0.9, 0}));
}

TEST(Options, CodeWinsOverEnvironmentWinsOverFile) {
  const ConfigFile file(
      "profiling:\n  service_name: file\n  max_stack_depth: 10\n  upload_interval: 1s\n"
      "  resource: {region: file, zone: file, \"host.name\": h}\n");
  const Environment environment = {{"OTEL_SERVICE_NAME", "environment"},
                                   {"OTEL_RESOURCE_ATTRIBUTES", "region=environment"},
                                   {"WHEREFORE_UPLOAD_INTERVAL", "2s"}};
  const LoadedOptions loaded =
      Load(environment, file.path(), [](Options& o) { o.service_name = "code"; });
  EXPECT_EQ(loaded.options.service_name, "code");
  EXPECT_EQ(loaded.options.upload_interval_ns, 2'000'000'000);
  EXPECT_EQ(loaded.options.max_stack_depth, 10U);
  EXPECT_EQ(loaded.options.resource,
            (TextPairs{{"region", "environment"}, {"zone", "file"}, {"host.name", "h"}}));
}

TEST(Options, ServiceNameAmongTheAttributesCountsUnlessNamedByItself) {
  const std::string attributes = "service.name=a%20b,service.version=2";
  EXPECT_EQ(Load({{"OTEL_RESOURCE_ATTRIBUTES", attributes}}).options.service_name, "a b");
  const LoadedOptions both =
      Load({{"OTEL_RESOURCE_ATTRIBUTES", attributes}, {"OTEL_SERVICE_NAME", "x"}});
  EXPECT_EQ(both.options.service_name, "x");
  EXPECT_EQ(both.options.resource, (TextPairs{{"service.version", "2"}}));
  const ConfigFile file("profiling:\n  service_name: file\n");
  EXPECT_EQ(Load({{"OTEL_RESOURCE_ATTRIBUTES", attributes}}, file.path()).options.service_name,
            "a b");
}

TEST(Options, AValueNobodyCanReadNamesItsVariableAndIsIgnored) {
  const LoadedOptions loaded = Load({{"WHEREFORE_CPU_RATE", "often"},
                                     {"WHEREFORE_UPLOAD_INTERVAL", "10"},
                                     {"WHEREFORE_HEAP_RATE", "0"},
                                     {"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
                                     {"WHEREFORE_TYPES", "goroutine"},
                                     {"WHEREFORE_WALL", ""}});
  ASSERT_EQ(loaded.warnings.size(), 5U);
  for (const char* name :
       {"WHEREFORE_CPU_RATE='often'", "WHEREFORE_UPLOAD_INTERVAL='10'", "WHEREFORE_HEAP_RATE='0'",
        "OTEL_EXPORTER_OTLP_COMPRESSION='zstd'", "WHEREFORE_TYPES='goroutine'"}) {
    EXPECT_TRUE(std::any_of(loaded.warnings.begin(), loaded.warnings.end(),
                            [&](const std::string& w) { return w.starts_with(name); }))
        << name;
  }
  EXPECT_EQ(loaded.options.types, Options().types);
  EXPECT_TRUE(loaded.options.gzip);
}

TEST(Options, ATypeIsSwitchedByOnOrOffInPlaceOfItsBlock) {
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const std::string_view name = TypeName(static_cast<Type>(i));
    const ConfigFile file(fmt::format("profiling:\n  {}: false\n", name));
    const LoadedOptions loaded = Load({}, file.path());
    EXPECT_EQ(loaded.warnings, std::vector<std::string>());
    for (std::size_t j = 0; j < kTypeCount; ++j)
      EXPECT_EQ(loaded.options.types[j].enabled, i != j) << name;
  }
  const ConfigFile others(
      "profiling:\n  types: [cpu]\n  memory: on\n  wall_clock: true\n  mutex: maybe\n");
  const LoadedOptions loaded = Load({}, others.path());
  EXPECT_TRUE(loaded.options.of(Type::kHeap).enabled);
  EXPECT_TRUE(loaded.options.of(Type::kWall).enabled);
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{
                                 others.path() + ":5: mutex: 'maybe' is not on or off; ignored"});
}

TEST(Options, AByteOrderMarkAtTheBeginningOfAFileIsSkipped) {
  const ConfigFile file("\xef\xbb\xbfprofiling:\n  cpu:\n    sample_rate: 50\n");
  const LoadedOptions loaded = Load({}, file.path());
  EXPECT_EQ(loaded.warnings, std::vector<std::string>());
  EXPECT_EQ(loaded.options.of(Type::kCpu).rate, 50);
}

TEST(Options, AListOrATextInPlaceOfTheSettingsIsToldWhatIsExpected) {
  for (const char* text : {"profiling:\n- cpu\n", "profiling:\n  - cpu\n", "\nprofiling: cpu\n"}) {
    const ConfigFile file(text);
    EXPECT_EQ(
        Load({}, file.path()).warnings,
        std::vector<std::string>{
            file.path() + ":2: 'cpu' is not a setting; under profiling: one 'key: value' a line "
                          "is expected, such as 'types: [cpu, heap]'; left out"});
  }
}

TEST(Options, OfAKeyThatComesTwiceTheLaterCountsAndItIsNamed) {
  const ConfigFile file(
      "profiling:\n  cpu:\n    enabled: true\n    sample_rate: 50\n  types: [wall]\n  timeout: 1s\n"
      "  types:\n  - cpu\n  - heap\n  cpu:\n    sample_rate: 60\n  timeout: 2s\nother: 1\nother: "
      "2\n");
  const LoadedOptions loaded = Load({}, file.path());
  EXPECT_EQ(loaded.warnings,
            (std::vector<std::string>{
                file.path() + ":7: 'types' is there already, in line 5; the later one counts",
                file.path() + ":10: 'cpu' is there already, in line 2; the later one counts",
                file.path() + ":12: 'timeout' is there already, in line 6; the later one counts"}));
  EXPECT_EQ(loaded.options.of(Type::kCpu).rate, 60);
  EXPECT_EQ(loaded.options.timeout_ns, 2'000'000'000);
  EXPECT_FALSE(loaded.options.of(Type::kWall).enabled);
  EXPECT_TRUE(loaded.options.of(Type::kHeap).enabled);
  const ConfigFile twice("profiling:\n  types: [wall]\nprofiling: {types: [cpu]}\n");
  const LoadedOptions second = Load({}, twice.path());
  EXPECT_EQ(
      second.warnings,
      std::vector<std::string>{
          twice.path() + ":3: 'profiling' is there already, in line 1; the later one counts"});
  EXPECT_TRUE(second.options.of(Type::kCpu).enabled);
  EXPECT_FALSE(second.options.of(Type::kWall).enabled);
}

TEST(Options, UnknownKeysAndBadValuesInAFileNameTheirLine) {
  const ConfigFile file(
      "other: 1\nprofiling:\n  gpu:\n    enabled: true\n  max_stack_depth: deep\n"
      "  cpu:\n    sample_rate: 50\n  note: |\n    text\n");
  const LoadedOptions loaded = Load({}, file.path());
  ASSERT_EQ(loaded.warnings.size(), 4U);
  EXPECT_EQ(loaded.warnings[2], file.path() + ":4: unknown key 'gpu.enabled'; left out");
  EXPECT_EQ(
      loaded.warnings[3],
      file.path() + ":5: max_stack_depth: 'deep' is not a whole number from 1 to 1024; ignored");
  EXPECT_EQ(loaded.options.of(Type::kCpu).rate, 50);
}

TEST(Options, AMissingFileOrOneWithoutTheBlockIsAWarning) {
  EXPECT_EQ(Load({}, "/nowhere/x.yaml").warnings,
            std::vector<std::string>{"cannot read /nowhere/x.yaml; going on without it"});
  const ConfigFile file("receivers: {}\n");
  EXPECT_EQ(Load({}, file.path()).warnings,
            std::vector<std::string>{file.path() + " has no profiling: block"});
}

TEST(Options, TypesCanBeChosenAndRated) {
  const LoadedOptions loaded = Load({{"WHEREFORE_TYPES", "cpu, Memory"},
                                     {"WHEREFORE_WALL", "on"},
                                     {"WHEREFORE_WALL_RATE", "19.5Hz"},
                                     {"WHEREFORE_MUTEX_RATE", "50us"},
                                     {"WHEREFORE_THREADS_RATE", "5s"}});
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{});
  std::string on;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (loaded.options.types[i].enabled) on += std::string(TypeName(static_cast<Type>(i))) + " ";
  }
  EXPECT_EQ(on, "cpu wall heap ");
  EXPECT_EQ(loaded.options.of(Type::kWall).rate, 19.5);
  EXPECT_EQ(loaded.options.of(Type::kMutex).rate, 50'000);
  EXPECT_EQ(loaded.options.of(Type::kThreads).rate, 5);
  const ConfigFile file("profiling:\n  types:\n  - heap\n  - wall\n");
  const Options listed = Load({}, file.path()).options;
  EXPECT_TRUE(listed.of(Type::kHeap).enabled && listed.of(Type::kWall).enabled);
  EXPECT_FALSE(listed.of(Type::kCpu).enabled);
}

TEST(Options, RatesThatMakeNoSenseAreNamedAndTheDefaultStays) {
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"WHEREFORE_CPU_RATE", {"1e9", "1e-30", "0", "-5", "nan", "inf", "1e400", "250 per minute"}},
      {"WHEREFORE_WALL_RATE", {"1e9Hz", "0.0001"}},
      {"WHEREFORE_OFF_CPU_RATE", {"10001"}},
      {"WHEREFORE_HEAP_RATE", {"0", "2TB", "8000000TB", "-1KB", "10Hz"}},
      {"WHEREFORE_MUTEX_RATE", {"0s", "25h", "100000000h", "10"}},
      {"WHEREFORE_BLOCK_RATE", {"0.1ns", "25h"}},
      {"WHEREFORE_THREADS_RATE", {"99ms", "25h"}}};
  for (const auto& [name, values] : wrong) {
    for (const std::string& value : values) {
      const LoadedOptions loaded = Load({{name, value}});
      EXPECT_EQ(loaded.options.types, Options().types) << name << "=" << value;
      ASSERT_EQ(loaded.warnings.size(), 1U) << name << "=" << value;
      EXPECT_TRUE(loaded.warnings[0].starts_with(fmt::format("{}='{}' is not ", name, value)))
          << loaded.warnings[0];
      EXPECT_TRUE(loaded.warnings[0].ends_with("; ignored")) << loaded.warnings[0];
    }
  }
  EXPECT_EQ(Load({{"WHEREFORE_CPU_RATE", "1e9"}}).warnings[0],
            "WHEREFORE_CPU_RATE='1e9' is not samples per second, from 0.001 to 10000; ignored");
  const ConfigFile file(
      "profiling:\n  cpu:\n    sample_rate: 1e-30\n  memory:\n    sample_rate: 2TB\n");
  const LoadedOptions loaded = Load({}, file.path());
  EXPECT_EQ(loaded.options.types, Options().types);
  EXPECT_EQ(loaded.warnings, (std::vector<std::string>{
                                 file.path() + ":3: cpu.sample_rate: '1e-30' is not samples per "
                                               "second, from 0.001 to 10000; ignored",
                                 file.path() + ":5: memory.sample_rate: '2TB' is not a size from 1 "
                                               "byte to 1TB, such as 512KB or 10MB; ignored"}));
}

TEST(Options, RatesAtTheEndsOfTheirRangesCount) {
  for (const auto& [type, name, value, rate] :
       {std::tuple(Type::kCpu, "WHEREFORE_CPU_RATE", "0.001", 0.001),
        {Type::kCpu, "WHEREFORE_CPU_RATE", "10000", 1e4},
        {Type::kHeap, "WHEREFORE_HEAP_RATE", "1TB", 1e12},
        {Type::kBlock, "WHEREFORE_BLOCK_RATE", "24h", 8.64e13},
        {Type::kThreads, "WHEREFORE_THREADS_RATE", "100ms", 0.1}}) {
    const LoadedOptions loaded = Load({{name, value}});
    EXPECT_EQ(loaded.warnings, std::vector<std::string>{});
    EXPECT_EQ(loaded.options.of(type).rate, rate) << name;
  }
}

TEST(Options, AnUnknownTypeIsNamedWithItsLineAndTheOthersStayOn) {
  const ConfigFile file("profiling:\n  types:\n  - cpu\n  - gpu\n  - heap\n");
  const LoadedOptions listed = Load({}, file.path());
  EXPECT_EQ(listed.warnings,
            std::vector<std::string>{file.path() +
                                     ":4: types: 'gpu' is none of cpu, wall, off_cpu, heap, mutex, "
                                     "block, threads, all, none; left out"});
  EXPECT_TRUE(listed.options.of(Type::kCpu).enabled && listed.options.of(Type::kHeap).enabled);
  EXPECT_FALSE(listed.options.of(Type::kWall).enabled);
  const LoadedOptions named = Load({{"WHEREFORE_TYPES", "gpu,cpu"}});
  ASSERT_EQ(named.warnings.size(), 1U);
  EXPECT_TRUE(named.warnings[0].ends_with("('gpu' is none); the others count"))
      << named.warnings[0];
  EXPECT_TRUE(named.options.of(Type::kCpu).enabled);
  EXPECT_FALSE(named.options.of(Type::kHeap).enabled);
  // A list of nothing but such names says nothing.
  const LoadedOptions none = Load({{"WHEREFORE_TYPES", "gpu"}});
  EXPECT_EQ(none.options.types, Options().types);
  EXPECT_TRUE(none.warnings.at(0).ends_with("('gpu' is none); ignored")) << none.warnings[0];
}

TEST(Options, OfPairsTheOnesThatAreSomeCountAndThatIsSaid) {
  const LoadedOptions some = Load({{"OTEL_RESOURCE_ATTRIBUTES", "a=1,b"}});
  EXPECT_EQ(some.options.resource, (TextPairs{{"a", "1"}}));
  EXPECT_TRUE(some.warnings.at(0).ends_with("; those that are pairs count")) << some.warnings[0];
  EXPECT_TRUE(Load({{"OTEL_RESOURCE_ATTRIBUTES", "b"}}).warnings.at(0).ends_with("; ignored"));
}

TEST(Options, AHeaderThatIsNoPairIsNotSaid) {
  for (const char* const name :
       {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}) {
    EXPECT_EQ(Load({{name, "authorization: Bearer hush"}}).warnings.at(0),
              std::string(name) + " is not pairs such as key=value,other=value; ignored");
  }
  const LoadedOptions address = Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hush@host"}});
  EXPECT_TRUE(address.warnings.at(0).starts_with("'http://***@host' is no http"))
      << address.warnings[0];
}

TEST(Options, AHeaderWithControlCharactersIsLeftOutWithOneWarning) {
  const LoadedOptions loaded = Load({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1%0d%0ax: y,b=2"}});
  EXPECT_EQ(loaded.options.profiles_headers, (TextPairs{{"b", "2"}}));
  EXPECT_EQ(loaded.options.traces_headers, (TextPairs{{"b", "2"}}));
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{
                                 "the header 'a' has control characters in it; it is not sent"});
}

TEST(Options, AnUnknownVariableIsNamedWithTheOneThatWasMeant) {
  const char* const environment[] = {"PATH=/bin",
                                     "WHEREFORE_TYPE=cpu",
                                     "WHEREFORE_CPU_RATES=5",
                                     "WHEREFORE_TYPES=cpu",
                                     "WHEREFORE_CONFIG=x",
                                     "WHEREFORE_SOMETHING_ELSE=1",
                                     nullptr};
  EXPECT_EQ(UnknownVariables(environment, KnownVariables()),
            (std::vector<std::string>{
                "WHEREFORE_TYPE is no setting of ours; ignored; is WHEREFORE_TYPES meant?",
                "WHEREFORE_CPU_RATES is no setting of ours; ignored; is WHEREFORE_CPU_RATE meant?",
                "WHEREFORE_SOMETHING_ELSE is no setting of ours; ignored"}));
}

TEST(Options, TheGrpcAddressBecomesHttpWithOneWarning) {
  const LoadedOptions loaded =
      Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel-collector:4317"}});
  EXPECT_EQ(loaded.options.profiles_url, "http://otel-collector:4318/v1development/profiles");
  EXPECT_EQ(loaded.options.traces_url, "http://otel-collector:4318/v1/traces");
  EXPECT_EQ(loaded.warnings,
            std::vector<std::string>{"'http://otel-collector:4317' is a gRPC address; sending OTLP "
                                     "over HTTP to otel-collector:4318 instead"});
  EXPECT_EQ(Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://h:9000"},
                  {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}})
                .options.profiles_url,
            "https://h:4318/v1development/profiles");
}

TEST(Options, ASignalsOwnAddressAndHeadersWin) {
  const LoadedOptions loaded =
      Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://all.example/otlp/"},
            {"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://[::1]:4040/in?x=1"},
            {"OTEL_EXPORTER_OTLP_HEADERS", "x-a=1,x-b=two%20words"},
            {"OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "x-a=own"},
            {"WHEREFORE_TOKEN", "secret"}});
  EXPECT_EQ(loaded.options.profiles_url, "http://[::1]:4040/in?x=1");
  EXPECT_EQ(loaded.options.traces_url, "https://all.example/otlp/v1/traces");
  EXPECT_EQ(loaded.options.profiles_headers,
            (TextPairs{{"x-a", "own"}, {"x-b", "two words"}, {"authorization", "Bearer secret"}}));
  EXPECT_EQ(loaded.options.traces_headers[0].second, "1");
}

TEST(Options, AnAddressInCodeOverrulesEveryVariable) {
  const LoadedOptions loaded = Load({{"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://other/x"},
                                     {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
                                    "", [](Options& o) {
                                      o.endpoint = "http://mine:9000";
                                      o.endpoint_from_code = true;
                                    });
  EXPECT_EQ(loaded.options.profiles_url, "http://mine:9000/v1development/profiles");
  EXPECT_EQ(loaded.options.traces_url, "http://mine:9000/v1/traces");
}

TEST(Options, AnAddressNobodyCanReadFallsBack) {
  const LoadedOptions loaded = Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x"}});
  EXPECT_EQ(loaded.options.profiles_url, "http://127.0.0.1:4318/v1development/profiles");
  EXPECT_EQ(loaded.warnings.size(), 1U);
}

TEST(Options, PprofServerAddress) {
  EXPECT_EQ(Load({}).options.pprof_port, -1);
  EXPECT_EQ(Load({{"WHEREFORE_PPROF", "6060"}}).options.pprof_port, 6060);
  EXPECT_EQ(Load({{"WHEREFORE_PPROF", "0"}}).options.pprof_port, 0);
  const Options v6 = Load({{"WHEREFORE_PPROF", "[::]:6061"}}).options;
  EXPECT_EQ(v6.pprof_host, "::");
  EXPECT_EQ(v6.pprof_port, 6061);
  EXPECT_EQ(Load({{"WHEREFORE_PPROF", "70000"}}).warnings.size(), 1U);
}

TEST(Endpoint, SplitsUrls) {
  const auto url = ParseUrl("localhost");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->port, 4318);
  EXPECT_EQ(ParseUrl("https://h/x")->port, 443);
  EXPECT_EQ(ParseUrl("http://[::1]:1/x")->Text(), "http://[::1]:1/x");
  for (const char* bad :
       {"", "http://", "http://h:0", "http://h:x", "http://h:70000", "http://[::1", "http://u@h",
        "http://h/a b", "http://h/\r\nX: y", "unix:///x"}) {
    EXPECT_FALSE(ParseUrl(bad)) << bad;
  }
}

TEST(Options, SharesAndPairs) {
  EXPECT_EQ(ParseShare("90%"), 0.9);
  EXPECT_EQ(ParseShare("90"), 0.9);
  EXPECT_EQ(ParseShare("0.9"), 0.9);
  EXPECT_EQ(ParseShare("1"), 1.0);
  EXPECT_FALSE(ParseShare("-1"));
  EXPECT_FALSE(ParseShare("101%"));
  EXPECT_FALSE(ParseShare("nan"));
  TextPairs pairs;
  EXPECT_FALSE(ParsePairs("a=1, b = x%3Dy ,c,=d,a=2", pairs));
  EXPECT_EQ(pairs, (TextPairs{{"a", "2"}, {"b", "x=y"}}));
}

TEST(Options, WhoMayControlItFromAfar) {
  const auto url = [](const Environment& environment) {
    const LoadedOptions loaded = Load(environment);
    EXPECT_EQ(loaded.warnings, std::vector<std::string>());
    return loaded.options.opamp_url;
  };
  EXPECT_EQ(url({}), "http://127.0.0.1:4318/v1/opamp");
  EXPECT_EQ(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel/prefix/"}}),
            "https://otel/prefix/v1/opamp");
  EXPECT_EQ(url({{"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://profiles:4040/in?x=1"}}),
            "http://profiles:4040/v1/opamp")
      << "where the profiles go, not the default";
  EXPECT_EQ(url({{"OTEL_OPAMP_ENDPOINT", "http://opamp:4320"}}), "http://opamp:4320/v1/opamp");
  EXPECT_EQ(url({{"OTEL_OPAMP_ENDPOINT", "http://opamp:4320/own"}}), "http://opamp:4320/own");
  EXPECT_EQ(url({{"WHEREFORE_REMOTE", "off"}}), "");
  EXPECT_EQ(url({{"WHEREFORE_OUTPUT", "out/"}}), "") << "files have no server";
  const LoadedOptions bad = Load({{"OTEL_OPAMP_ENDPOINT", "ftp://x"}});
  EXPECT_EQ(bad.options.opamp_url, "http://127.0.0.1:4318/v1/opamp");
  EXPECT_EQ(bad.warnings, std::vector<std::string>{"'ftp://x' is no http or https address; using "
                                                   "http://127.0.0.1:4318/v1/opamp"});
  EXPECT_FALSE(Load({{"WHEREFORE_ENABLED", "off"}}).options.enabled);
}

}  // namespace
}  // namespace wherefore::sdk
