#include "sdk/context/resource.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/clock.h"
#include "base/text.h"
#include "formats/wire/utf8.h"
#include "sdk/platform/program_path.h"
#include "sdk/version.h"

namespace wherefore::sdk {
namespace {

struct Seed {
  std::uint64_t words[2] = {};
  Seed() {
    if (getrandom(words, sizeof(words), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(words)))
      return;
    // So early in the machine's life that there is no entropy: the clock must do.
    words[0] = static_cast<std::uint64_t>(NowUnixNs());
  }
};

std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// When the process began, in ticks since boot: process ids are used again.
std::uint64_t StartTime() {
  std::ifstream in("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size())));
  std::string field;
  for (int i = 0; i < 21; ++i) fields >> field;
  return ParseUint(field).value_or(0);
}

// In the form of a random UUID (version 4): the same whenever this process asks, another in each
// child, without a lock that a fork could catch held.
std::string InstanceId() {
  static const Seed kSeed;
  const std::uint64_t who = static_cast<std::uint64_t>(getpid()) << 40 ^ StartTime();
  const std::uint64_t words[2] = {Mix(kSeed.words[0] + who), Mix(kSeed.words[1] ^ Mix(who))};
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), words, sizeof(words));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = ToHex(bytes);
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, "-");
  return text;
}

// Where texts of the host enter: what is not UTF-8 is replaced, which may make two names one.
void AddUnlessThere(ResourceAttributes& to, std::string_view key, std::string_view text) {
  std::string valid = formats::ReplaceBadUtf8(key);
  const bool there =
      std::any_of(to.begin(), to.end(), [&](const ResourceAttribute& a) { return a.key == valid; });
  if (!there) to.push_back({std::move(valid), formats::ReplaceBadUtf8(text)});
}

void AddIfKnown(ResourceAttributes& to, std::string_view key, std::string_view text) {
  if (!text.empty()) AddUnlessThere(to, key, text);
}

}  // namespace

ResourceAttributes DescribeProcess(const Options& options) {
  ResourceAttributes out;
  AddUnlessThere(out, "service.name", options.service_name);
  for (const auto& [key, value] : options.resource) AddUnlessThere(out, key, value);
  AddIfKnown(out, "service.instance.id", InstanceId());
  const std::string exe = ProgramPath();
  AddIfKnown(out, "process.executable.name", exe.substr(exe.rfind('/') + 1));
  AddIfKnown(out, "process.executable.path", exe);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) AddIfKnown(out, "host.name", host.data());
  AddIfKnown(out, "telemetry.sdk.name", "wherefore");
  AddIfKnown(out, "telemetry.sdk.language", "cpp");
  AddIfKnown(out, "telemetry.sdk.version", LibraryVersion());
  out.push_back({"process.pid", "", getpid(), true});
  return out;
}

profile::Resource AddResource(profile::TextPool& pool, const ResourceAttributes& attributes) {
  profile::Resource resource;
  resource.attributes.begin = static_cast<std::uint32_t>(pool.own_attributes.size());
  for (const ResourceAttribute& a : attributes) {
    profile::Attribute attribute;
    attribute.key = pool.AddText(a.key);
    if (a.is_number) {
      attribute.value = {profile::Value::Kind::kInt, 0, a.number};
    } else {
      attribute.value = {profile::Value::Kind::kString, pool.AddText(a.text), 0};
    }
    pool.own_attributes.push_back(attribute);
  }
  resource.attributes.count = static_cast<std::uint32_t>(attributes.size());
  return resource;
}

const char* LibraryVersion() {
  return kLibraryVersion;
}

}  // namespace wherefore::sdk
