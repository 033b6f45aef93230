#include "load.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "formats/otlp/fields.h"

namespace wherefore::bench {
namespace {

constexpr double kZipfExponent = 1.0;
constexpr double kFunctionSkew = 7.5;  // makes a request 52 kB
constexpr std::uint32_t kMaxDepth = 45;
constexpr int kModules = 61;
constexpr int kClasses = 149;
constexpr std::int64_t kPeriodNs = 10'000'000;
constexpr std::int64_t kDurationNs = 10'000'000'000;

// Strings every dictionary begins with.
enum FixedString : std::uint32_t {
  kEmpty,
  kSamples,
  kCount,
  kCpu,
  kNanoseconds,
  kBinary,
  kFixedStrings
};
constexpr std::array<std::string_view, kFixedStrings> kFixedTexts = {
    "", "samples", "count", "cpu", "nanoseconds", "/usr/bin/shop"};

std::uint64_t Mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// One short message: a sample, a stack, a location. Unchecked, because the generator shares two
// cores with the server it measures; 256 bytes hold a stack of kMaxDepth frames.
class Small {
 public:
  void operator+=(char c) { *end_++ = c; }
  void operator+=(std::string_view text) { end_ = std::copy(text.begin(), text.end(), end_); }
  operator std::string_view() const { return {bytes_.data(), end_}; }

 private:
  std::array<char, 256> bytes_;
  char* end_ = bytes_.data();
};

template <typename Out>
void Varint(Out& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}
template <typename Out>
void Number(Out& out, formats::Tag tag, std::uint64_t value) {
  Varint(out, tag << 3);
  Varint(out, value);
}
template <typename Out>
void Text(Out& out, formats::Tag tag, std::string_view bytes) {
  Varint(out, tag << 3 | 2);
  Varint(out, bytes.size());
  out += bytes;
}
void Fixed64(std::string& out, formats::Tag tag, std::uint64_t value) {
  static_assert(std::endian::native == std::endian::little);
  Varint(out, tag << 3 | 1);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
// A string as an entry of the dictionary's table.
std::string StringEntry(std::string_view text) {
  std::string out;
  Text(out, formats::dictionary::kStrings, text);
  return out;
}
template <std::size_t N>
std::string_view View(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}
template <std::size_t N>
void Fill(std::array<std::uint8_t, N>& bytes, Random& random) {
  for (std::size_t i = 0; i < N; i += 8) {
    const std::uint64_t bits = random.Next();
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&bits), 8, bytes.begin() + i);
  }
}

struct Node {
  std::uint32_t parent;
  std::uint32_t function;
  int depth;
};

// A few functions are called from everywhere, most from one or two places.
std::uint32_t PopularFunction(const Shape& shape, Random& random) {
  return static_cast<std::uint32_t>(std::pow(random.Unit(), kFunctionSkew) * shape.functions);
}

// Mostly continues where it was, as programs do, and sometimes starts a branch anywhere.
std::vector<Node> MakeTree(const Shape& shape, Random& random) {
  std::vector<Node> tree = {{0, 0, 1}};
  const auto size = static_cast<std::size_t>(shape.stacks) * 3;
  while (tree.size() < size) {
    const std::uint64_t recent = std::min<std::uint64_t>(tree.size(), 8);
    const std::uint64_t parent =
        random.Below(4) == 0 ? random.Below(tree.size()) : tree.size() - 1 - random.Below(recent);
    if (tree[parent].depth >= static_cast<int>(kMaxDepth)) continue;
    tree.push_back({static_cast<std::uint32_t>(parent), PopularFunction(shape, random),
                    tree[parent].depth + 1});
  }
  return tree;
}

// Picks leaves so that the mean depth stays near the wanted one, from the most popular stack on.
void PickStacks(const Shape& shape, const std::vector<Node>& tree, Random& random, Service& out) {
  std::vector<bool> used(tree.size());
  out.stack_begin = {0};
  while (out.stack_begin.size() <= static_cast<std::size_t>(shape.stacks)) {
    const std::size_t leaf = random.Below(tree.size());
    const std::size_t wanted = (out.stack_begin.size() - 1) * shape.mean_depth;
    const bool deeper = out.stack_functions.size() <= wanted;
    if (used[leaf] || deeper != (tree[leaf].depth >= shape.mean_depth)) {
      // Shallow or deep leaves may run out near the end.
      if (random.Below(64) != 0 || used[leaf]) continue;
    }
    used[leaf] = true;
    for (std::size_t at = leaf;; at = tree[at].parent) {
      out.stack_functions.push_back(tree[at].function);
      if (at == 0) break;
    }
    out.stack_begin.push_back(static_cast<std::uint32_t>(out.stack_functions.size()));
  }
}

// Every stack shares the outer part of an earlier one, some 60 % of it, and goes its own way from
// there: ten frames on average, so that 20,000 stacks have 200,000 distinct paths.
void MakeWideStacks(const Shape& shape, Random& random, Service& out) {
  const int own_frames = shape.mean_depth * 2 / 5;
  out.stack_begin = {0};
  std::vector<std::uint32_t> stack;  // leaf first
  for (int made = 0; made < shape.stacks; ++made) {
    stack.clear();
    const std::uint64_t own = made == 0 ? shape.mean_depth : 1 + random.Below(2 * own_frames - 1);
    for (std::uint64_t i = 0; i < own; ++i) stack.push_back(PopularFunction(shape, random));
    if (made > 0) {
      const std::uint64_t other = random.Below(static_cast<std::uint64_t>(made));
      const std::uint32_t end = out.stack_begin[other + 1];
      const std::uint32_t depth = end - out.stack_begin[other];
      const auto share = static_cast<std::uint32_t>(depth * (0.35 + 0.5 * random.Unit()));
      const auto room = static_cast<std::uint32_t>(kMaxDepth - own);
      for (std::uint32_t i = end - std::min(share, room); i < end; ++i)
        stack.push_back(out.stack_functions[i]);
    }
    out.stack_functions.insert(out.stack_functions.end(), stack.begin(), stack.end());
    out.stack_begin.push_back(static_cast<std::uint32_t>(out.stack_functions.size()));
  }
}

Service MakeService(const Shape& shape, int index) {
  Random random(Mix(Mix(shape.seed) + static_cast<std::uint64_t>(index)));
  Service service;
  service.name = shape.prefix + "-" + std::to_string(index);
  for (int i = 0; i < kClasses; ++i) {
    service.file_entries.push_back(StringEntry("/src/shop/module" + std::to_string(i % kModules) +
                                               "/class" + std::to_string(i) + ".cc"));
  }
  for (int i = 0; i < shape.functions; ++i) {
    const int type = i % kClasses;
    service.function_names.push_back("shop::module" + std::to_string(type % kModules) + "::Class" +
                                     std::to_string(type) + "::Function" + std::to_string(i));
    service.name_begin.push_back(static_cast<std::uint32_t>(service.name_entries.size()));
    service.name_entries += StringEntry(service.function_names.back());
    service.function_files.push_back(static_cast<std::uint32_t>(type));
  }
  service.name_begin.push_back(static_cast<std::uint32_t>(service.name_entries.size()));
  if (shape.model == Model::kWide) {
    MakeWideStacks(shape, random, service);
  } else {
    PickStacks(shape, MakeTree(shape, random), random, service);
  }
  return service;
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = seed = Mix(seed);
}

std::uint64_t Random::Next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Load::Load(Shape shape) : shape_(std::move(shape)) {
  // More samples than stacks cannot all be different.
  shape_.samples = std::min(shape_.samples, shape_.stacks);
  for (int i = 0; i < shape_.services; ++i) services_.push_back(MakeService(shape_, i));
  double sum = 0;
  for (int rank = 1; rank <= shape_.stacks; ++rank)
    cumulative_.push_back(sum += 1 / std::pow(rank, kZipfExponent));
}

std::uint32_t Load::DrawStack(Random& random) const {
  const double at = random.Unit() * cumulative_.back();
  return static_cast<std::uint32_t>(std::ranges::lower_bound(cumulative_, at) -
                                    cumulative_.begin());
}

RequestWriter::RequestWriter(const Load& load)
    : load_(load),
      stack_mark_(load.shape().stacks),
      function_mark_(load.shape().functions),
      function_index_(load.shape().functions),
      file_mark_(kClasses),
      file_index_(kClasses),
      stack_sample_(load.shape().stacks) {}

// A stack drawn again raises the value of its sample.
void RequestWriter::DrawSamples(Random& random) {
  samples_.clear();
  while (samples_.size() < static_cast<std::size_t>(load_.shape().samples)) {
    const std::uint32_t stack = load_.DrawStack(random);
    if (stack_mark_[stack] != mark_) {
      stack_mark_[stack] = mark_;
      stack_sample_[stack] = samples_.size();
      samples_.emplace_back(stack, 0);
    }
    ++samples_[stack_sample_[stack]].second;
  }
}

// A function has one location here, so both have the same index.
std::uint32_t RequestWriter::Location(const Service& service, std::uint32_t function) {
  if (function_mark_[function] == mark_) return function_index_[function];
  function_mark_[function] = mark_;
  const std::uint32_t index = function_index_[function] = next_function_++;
  const std::uint32_t file = service.function_files[function];
  if (file_mark_[file] != mark_) {
    file_mark_[file] = mark_;
    file_index_[file] = next_string_++;
    strings_ += service.file_entries[file];
  }
  const std::uint32_t name = next_string_++;
  const std::uint32_t begin = service.name_begin[function];
  strings_.append(service.name_entries, begin, service.name_begin[function + 1] - begin);

  Small named;
  Number(named, formats::function::kName, name);
  Number(named, formats::function::kFilename, file_index_[file]);
  Number(named, formats::function::kStartLine, function % 900 + 1);
  Text(functions_, formats::dictionary::kFunctions, named);

  Small line;
  Number(line, formats::line::kFunction, index);
  Number(line, formats::line::kLine, function % 900 + 7);
  Small location;
  Number(location, formats::location::kMapping, 1);
  Number(location, formats::location::kAddress, 0x400000 + function * 64U);
  Text(location, formats::location::kLines, line);
  Text(locations_, formats::dictionary::kLocations, location);
  return index;
}

void RequestWriter::WriteStack(const Service& service, std::uint32_t stack) {
  Small indices;
  for (std::uint32_t i = service.stack_begin[stack]; i < service.stack_begin[stack + 1]; ++i)
    Varint(indices, Location(service, service.stack_functions[i]));
  Small message;
  Text(message, formats::stack::kLocations, indices);
  Text(stacks_, formats::dictionary::kStacks, message);
}

void RequestWriter::WriteProfile(std::int64_t time_ns, Random& random, Content& content,
                                 const Service& service) {
  namespace field = formats::profile_field;
  const auto type = [&](formats::Tag tag, std::uint32_t name, std::uint32_t unit) {
    Small message;
    Number(message, formats::value_type::kType, name);
    Number(message, formats::value_type::kUnit, unit);
    Text(profile_, tag, message);
  };
  type(field::kSampleType, kSamples, kCount);
  std::uint32_t index = 0;
  for (const auto& [stack, value] : samples_) {
    WriteStack(service, stack);
    const bool linked = index++ % 10 == 0;
    if (linked) {
      Link& link = content.links.emplace_back();
      Fill(link.trace, random);
      Fill(link.span, random);
      link.value = value;
      Small message;
      Text(message, formats::link::kTraceId, View(link.trace));
      Text(message, formats::link::kSpanId, View(link.span));
      Text(links_, formats::dictionary::kLinks, message);
    }
    Small packed;
    Varint(packed, static_cast<std::uint64_t>(value));
    Small sample;
    Number(sample, formats::sample::kStack, index);
    if (linked) Number(sample, formats::sample::kLink, content.links.size());
    Text(sample, formats::sample::kValues, packed);
    Text(profile_, field::kSamples, sample);
    content.total += value;
    content.leaves.emplace_back(service.stack_functions[service.stack_begin[stack]], value);
  }
  Fixed64(profile_, field::kTime, static_cast<std::uint64_t>(time_ns));
  Number(profile_, field::kDuration, kDurationNs);
  type(field::kPeriodType, kCpu, kNanoseconds);
  Number(profile_, field::kPeriod, kPeriodNs);
  std::array<std::uint8_t, 16> id;
  Fill(id, random);
  Text(profile_, field::kId, View(id));
}

void RequestWriter::WriteResource(const Service& service, int instance) {
  const auto attribute = [&](std::string_view key, std::string_view value) {
    std::string any;
    Text(any, formats::any_value::kString, value);
    std::string pair;
    Text(pair, formats::key_value::kKey, key);
    Text(pair, formats::key_value::kValue, any);
    Text(resource_, formats::resource::kAttributes, pair);
  };
  attribute("service.name", service.name);
  attribute("service.instance.id", "instance-" + std::to_string(instance));
  attribute("host.name", "host-" + std::to_string(instance));
}

void RequestWriter::Write(int service_index, int instance, std::int64_t step, std::int64_t time_ns,
                          std::string& out, Content& content) {
  namespace dictionary = formats::dictionary;
  const Service& service = load_.service(service_index);
  // Shifted, not added: otherwise (step 1, instance 2) and (step 2, instance 1) would be the same.
  const std::uint64_t place = (static_cast<std::uint64_t>(service_index) << 32) | (instance + 1U);
  Random random(Mix(Mix(Mix(load_.shape().seed) + static_cast<std::uint64_t>(step)) + place));
  ++mark_;
  next_string_ = 0;
  next_function_ = 1;
  for (std::string* s :
       {&locations_, &functions_, &strings_, &stacks_, &links_, &profile_, &resource_})
    s->clear();
  content.total = 0;
  content.leaves.clear();
  content.links.clear();
  // Entry 0 of every table is the null entry.
  Text(locations_, dictionary::kLocations, "");
  Text(functions_, dictionary::kFunctions, "");
  Text(links_, dictionary::kLinks, "");
  Text(stacks_, dictionary::kStacks, "");
  for (const std::string_view text : kFixedTexts) {
    Text(strings_, dictionary::kStrings, text);
    ++next_string_;
  }

  DrawSamples(random);
  WriteProfile(time_ns, random, content, service);
  WriteResource(service, instance);

  std::string scopes;
  Text(scopes, formats::envelope::kItems, profile_);
  std::string resources;
  Text(resources, formats::envelope::kResource, resource_);
  Text(resources, formats::envelope::kScopes, scopes);
  Text(out, formats::envelope::kResources, resources);

  std::string head;
  Small mapping;
  Number(mapping, formats::mapping::kStart, 0x400000);
  Number(mapping, formats::mapping::kLimit, 0x900000);
  Number(mapping, formats::mapping::kFilename, kBinary);
  Text(head, dictionary::kMappings, "");
  Text(head, dictionary::kMappings, mapping);
  Text(head, dictionary::kAttributes, "");
  const auto parts = {&head, &locations_, &functions_, &links_, &strings_, &stacks_};
  std::size_t size = 0;
  for (const std::string* part : parts) size += part->size();
  Varint(out, formats::envelope::kDictionary << 3 | 2);
  Varint(out, size);
  for (const std::string* part : parts) out += *part;
}

}  // namespace wherefore::bench
