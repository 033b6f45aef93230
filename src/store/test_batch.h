// Small requests for tests, and the plain answer to "what is stored?".
#pragma once

#include <future>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/frame_name.h"
#include "profile/sink.h"
#include "store/store.h"

namespace wherefore::store {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Builds a Batch profile by profile; every stack is a list of function names, leaf first. A name
// may say its module: "module`name".
class BatchBuilder {
 public:
  struct Sample {
    std::vector<std::string> stack;
    std::int64_t value = 1;
    std::string trace;  // 32 hex digits
    std::string span;   // 16 hex digits
    std::vector<std::uint64_t> times;
    Labels attributes;
  };
  struct Options {
    std::string service = "shop";
    Labels resource;
    std::int64_t time_ns = 0;
    std::uint64_t duration_ns = 10'000'000'000;
    std::string type = "samples";
    std::string unit = "count";
    std::string id;  // 32 hex digits
    Labels attributes;
  };

  BatchBuilder& Add(const Options& options, const std::vector<Sample>& samples) {
    profile::Resource resource;
    resource.attributes.begin = static_cast<std::uint32_t>(batch_.own_attributes.size());
    batch_.own_attributes.push_back(Attribute("service.name", options.service));
    for (const auto& [name, value] : options.resource)
      batch_.own_attributes.push_back(Attribute(name, value));
    resource.attributes.count =
        static_cast<std::uint32_t>(batch_.own_attributes.size()) - resource.attributes.begin;
    batch_.resources.push_back(resource);
    profile::Profile profile;
    profile.resource = static_cast<profile::Id>(batch_.resources.size() - 1);
    profile.scope = 0;
    profile.sample_type = {Text(options.type), Text(options.unit)};
    profile.period_type = {Text("cpu"), Text("nanoseconds")};
    profile.period = 10'000'000;
    profile.time_ns = static_cast<std::uint64_t>(options.time_ns);
    profile.duration_ns = options.duration_ns;
    if (!options.id.empty()) CopyHex(options.id, profile.id);
    profile.attributes = Refs(options.attributes);
    profile.first_sample = static_cast<std::uint32_t>(batch_.samples.size());
    profile.sample_count = static_cast<std::uint32_t>(samples.size());
    for (const Sample& sample : samples) AddSample(sample);
    batch_.profiles.push_back(profile);
    return *this;
  }

  profile::WriteRequest Request(std::string_view identity, std::uint32_t tenant = 0) {
    EXPECT_TRUE(batch_.Validate());
    profile::WriteRequest request;
    request.data = std::move(batch_);
    request.identity = HashString(identity);
    request.tenant = tenant;
    request.arrival_ns = NowUnixNs();
    batch_ = profile::Batch();
    functions_.clear();
    mappings_.clear();
    return request;
  }

 private:
  profile::Id Text(std::string_view text) { return batch_.AddText(text); }
  profile::Attribute Attribute(const std::string& name, const std::string& value) {
    return {Text(name), 0, {profile::Value::Kind::kString, Text(value), 0}};
  }
  profile::Range Refs(const Labels& attributes) {
    const profile::Range range{static_cast<std::uint32_t>(batch_.attribute_refs.size()),
                               static_cast<std::uint32_t>(attributes.size())};
    for (const auto& [name, value] : attributes) {
      batch_.attributes.push_back(Attribute(name, value));
      batch_.attribute_refs.push_back(static_cast<profile::Id>(batch_.attributes.size() - 1));
    }
    return range;
  }
  template <typename Id>
  static void CopyHex(const std::string& hex, Id& id) {
    const std::string bytes = *FromHex(hex);
    ASSERT_EQ(bytes.size(), id.size());
    std::memcpy(id.data(), bytes.data(), bytes.size());
  }
  profile::Id Mapping(const std::string& module) {
    auto& id = mappings_[module];
    if (id == 0) {
      batch_.mappings.push_back({0x1000, 0x9000, 0, Text("/bin/" + module), {}});
      id = static_cast<profile::Id>(batch_.mappings.size() - 1);
    }
    return id;
  }
  profile::Id Frame(const std::string& spelled) {
    auto& id = functions_[spelled];
    if (id == 0) {
      const std::size_t tick = spelled.find('`');
      const std::string name = tick == std::string::npos ? spelled : spelled.substr(tick + 1);
      const std::string module = tick == std::string::npos ? "shop" : spelled.substr(0, tick);
      batch_.functions.push_back({Text(name), Text("_Z" + name), Text(name + ".cc"), 7});
      const auto line = static_cast<std::uint32_t>(batch_.lines.size());
      batch_.lines.push_back({static_cast<profile::Id>(batch_.functions.size() - 1), 11, 3});
      batch_.frames.push_back({Mapping(module), 0x1000 + Hash64(name) % 4096, {line, 1}, {}});
      id = static_cast<profile::Id>(batch_.frames.size() - 1);
    }
    return id;
  }
  void AddSample(const Sample& sample) {
    const auto begin = static_cast<std::uint32_t>(batch_.stack_frames.size());
    for (const std::string& name : sample.stack) batch_.stack_frames.push_back(Frame(name));
    batch_.stacks.push_back({begin, static_cast<std::uint32_t>(sample.stack.size())});
    profile::Id link = 0;
    if (!sample.trace.empty()) {
      profile::Link entry;
      CopyHex(sample.trace, entry.trace);
      CopyHex(sample.span, entry.span);
      batch_.links.push_back(entry);
      link = static_cast<profile::Id>(batch_.links.size() - 1);
    }
    const profile::Range times{static_cast<std::uint32_t>(batch_.times.size()),
                               static_cast<std::uint32_t>(sample.times.size())};
    batch_.times.insert(batch_.times.end(), sample.times.begin(), sample.times.end());
    batch_.samples.Append(static_cast<profile::Id>(batch_.stacks.size() - 1),
                          Refs(sample.attributes), link, sample.value, times, {});
  }

  profile::Batch batch_;
  std::map<std::string, profile::Id> functions_;
  std::map<std::string, profile::Id> mappings_;
};

// Writes and waits for the answer.
inline Result<profile::WriteAnswer> WriteNow(profile::Sink& store, profile::WriteRequest request) {
  std::promise<Result<profile::WriteAnswer>> answer;
  store.Write(std::move(request),
              [&](Result<profile::WriteAnswer> a) { answer.set_value(std::move(a)); });
  return answer.get_future().get();
}

// "root;...;leaf" -> value, over everything that is stored of a service.
inline std::map<std::string, std::int64_t> StackTotals(Store& store, const std::string& service,
                                                       std::uint32_t tenant = 0) {
  std::map<std::string, std::int64_t> totals;
  Reader& reader = store.reader();
  const TimeRange all{0, INT64_MAX};
  const auto services = reader.Services(tenant, all, {});
  EXPECT_TRUE(services) << services.error().message();
  if (!services) return totals;
  SampleQuery query{.tenant = tenant, .range = all, .selections = {}};
  std::vector<DictionaryRows> names;
  for (const ServiceRow& row : *services) {
    if (row.name != service) continue;
    query.selections.push_back({row.dictionary, {}, {}});
    auto dictionary = reader.Dictionary(row.dictionary, {}, {});
    EXPECT_TRUE(dictionary) << dictionary.error().message();
    if (!dictionary) return totals;
    names.push_back(*std::move(dictionary));
  }
  const auto sums = reader.SumStacks(query, {});
  EXPECT_TRUE(sums) << sums.error().message();
  if (!sums) return totals;
  for (const StackSum& sum : *sums) {
    const DictionaryRows& rows = names[sum.dictionary];
    const auto lost = [](std::size_t id, const auto& there) { return id - 1 >= there.size(); };
    std::string path;
    const profile::Range range =
        lost(sum.stack, rows.stacks) ? profile::Range{} : rows.stacks[sum.stack - 1];
    for (std::uint32_t i = range.count; i-- > 0;) {
      if (!path.empty()) path += ';';
      const std::uint32_t frame = rows.stack_frames[range.begin + i];
      const std::uint32_t function =
          lost(frame, rows.frames) ? kLostId : rows.frames[frame - 1].lines.at(0).function;
      path +=
          lost(function, rows.functions) ? profile::kNameLost : rows.functions[function - 1].name;
    }
    totals[range.count == 0 ? std::string(profile::kNameLost) : path] += sum.value;
  }
  return totals;
}

}  // namespace wherefore::store
