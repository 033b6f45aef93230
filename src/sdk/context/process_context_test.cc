#include "sdk/context/process_context.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/text.h"

namespace wherefore::sdk {
namespace {

struct Published {
  std::string header;
  std::string payload;
  std::uint64_t time = 0;
};

// As a reader would, except that it looks at its own memory.
std::optional<Published> Read() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[anon_shmem:OTEL_CTX]") == std::string::npos &&
        line.find("/memfd:OTEL_CTX") == std::string::npos) {
      continue;
    }
    const auto address = std::stoull(line.substr(0, line.find('-')), nullptr, 16);
    const auto* const bytes = reinterpret_cast<const char*>(address);
    Published out;
    out.header.assign(bytes, 32);
    std::uint32_t size = 0;
    const char* payload = nullptr;
    std::memcpy(&size, bytes + 12, 4);
    std::memcpy(&out.time, bytes + 16, 8);
    std::memcpy(&payload, bytes + 24, 8);
    out.payload.assign(payload, size);
    return out;
  }
  return std::nullopt;
}

TEST(ProcessContext, EncodesTheSpecificationsExample) {
  EXPECT_EQ(
      ToHex(EncodeProcessContext({{"service.name", "svc"}}, {"http_route", "user_id"})),
      "0a170a150a0c736572766963652e6e616d6512050a03737663122e0a1a7468726561646c6f63616c2e736368"
      "656d615f76657273696f6e12100a0e746c73646573635f76315f646576123c0a1d7468726561646c6f63616c"
      "2e6174747269627574655f6b65795f6d6170121b2a190a0c0a0a687474705f726f7574650a090a0775736572"
      "5f6964");
}

TEST(ProcessContext, PublishesUpdatesAndDoesNotPassToAChild) {
  const ResourceAttributes resource = {{"service.name", "svc"}};
  ASSERT_TRUE(PublishProcessContext(resource, {}));
  const auto first = Read();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header.substr(0, 12), std::string("OTEL_CTX\x02\0\0\0", 12));
  EXPECT_EQ(first->payload, EncodeProcessContext(resource, {}));
  EXPECT_NE(first->time, 0U);

  ASSERT_TRUE(UpdateProcessContext({"route"}));
  const auto second = Read();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->payload, EncodeProcessContext(resource, {"route"}));
  EXPECT_GT(second->time, first->time);

  LockProcessContext();
  const pid_t child = fork();
  UnlockProcessContext(child == 0);
  if (child == 0) {
    const bool inherited = Read().has_value();
    const bool published = PublishProcessContext({{"service.name", "child"}}, {}).has_value();
    const auto own = Read();
    _exit(!inherited && published && own &&
                  own->payload == EncodeProcessContext({{"service.name", "child"}}, {})
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read()->payload, second->payload);

  EXPECT_EQ(UpdateProcessContext({std::string(70'000, 'x')}).error().code(), Code::kLimit);
  EXPECT_EQ(Read()->payload, second->payload);
}

TEST(Resource, NamesTheProcessOnce) {
  Options options;
  options.service_name = "svc";
  options.resource = {{"host.name", "mine"}, {"region", "eu"}};
  const ResourceAttributes first = DescribeProcess(options);
  const ResourceAttributes second = DescribeProcess(options);
  std::map<std::string, std::string> texts;
  for (const ResourceAttribute& a : first) {
    EXPECT_FALSE(texts.contains(a.key)) << a.key;
    texts[a.key] = a.text;
  }
  EXPECT_EQ(texts["host.name"], "mine");
  EXPECT_EQ(texts["region"], "eu");
  EXPECT_EQ(texts["service.instance.id"].size(), 36U);
  EXPECT_EQ(texts["process.executable.name"], "sdk_test");
  const auto instance = [](const ResourceAttributes& all) {
    return std::find_if(all.begin(), all.end(),
                        [](const auto& a) { return a.key == "service.instance.id"; })
        ->text;
  };
  EXPECT_EQ(instance(first), instance(second));
  const pid_t child = fork();
  if (child == 0) _exit(instance(DescribeProcess(options)) == instance(first) ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a child is another instance";
}

TEST(Resource, TextsThatAreNotUtf8AreMadeSo) {
  Options options;
  options.service_name = "s\xff";
  options.resource = {
      {"k\xff", "first"}, {"k\xfe", "second"}, {"empty", ""}, {"region", "\xc3\xa9\xc3"}};
  std::map<std::string, std::string> texts;
  for (const ResourceAttribute& a : DescribeProcess(options)) {
    EXPECT_TRUE(texts.emplace(a.key, a.text).second) << a.key << " comes twice";
  }
  EXPECT_EQ(texts["service.name"], "s\uFFFD");
  EXPECT_EQ(texts["k\uFFFD"], "first");
  EXPECT_EQ(texts["region"], "\u00e9\uFFFD");
  EXPECT_TRUE(texts.contains("empty"));
}

}  // namespace
}  // namespace wherefore::sdk
