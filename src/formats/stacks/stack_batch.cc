#include "formats/stacks/stack_batch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/wire/size32.h"
#include "formats/wire/utf8.h"

namespace wherefore::formats {

using profile::Id;

StackBatch::StackBatch(std::shared_ptr<const std::string> bytes) {
  constexpr std::size_t kAlwaysFine = std::size_t{4} << 20;
  max_frames_ = kAlwaysFine + 16 * bytes->size();
  batch_.Own(std::move(bytes));
}

Id StackBatch::AddFrame(Id name) {
  batch_.functions.push_back({name, 0, 0, 0});
  batch_.lines.push_back({Size32(batch_.functions.size() - 1), 0, 0});
  batch_.frames.push_back({0, 0, {Size32(batch_.lines.size() - 1), 1}, {}});
  return Size32(batch_.frames.size() - 1);
}

Id StackBatch::Frame(std::string_view name) {
  const auto [it, is_new] = frames_.try_emplace(name, 0);
  if (!is_new) return it->second;
  it->second =
      AddFrame(IsValidUtf8(name) ? batch_.AddView(name) : batch_.AddText(ReplaceBadUtf8(name)));
  return it->second;
}

Id StackBatch::OwnFrame(std::string_view name) {
  return AddFrame(batch_.AddText(IsValidUtf8(name) ? name : ReplaceBadUtf8(name)));
}

void StackBatch::Add(std::span<const Id> frames, std::int64_t value) {
  Id stack = 0;
  if (!frames.empty()) {
    batch_.stacks.push_back({Size32(batch_.stack_frames.size()), Size32(frames.size())});
    batch_.stack_frames.insert(batch_.stack_frames.end(), frames.begin(), frames.end());
    stack = Size32(batch_.stacks.size() - 1);
  }
  batch_.values.push_back(value);
  batch_.samples.Append(stack, {}, 0, value, {}, {Size32(batch_.values.size() - 1), 1});
}

void StackBatch::AddFolded(std::string_view names, std::int64_t value) {
  scratch_.clear();
  // The Batch is leaf first, the text root first.
  while (!names.empty()) {
    const std::size_t cut = names.rfind(';');
    const bool last = cut == std::string_view::npos;
    scratch_.push_back(Frame(last ? names : names.substr(cut + 1)));
    names = last ? std::string_view() : names.substr(0, cut);
  }
  Add(scratch_, value);
}

Result<> StackBatch::EndProfile(const StacksContext& context, std::string_view title) {
  for (std::size_t i = first_sample_; i < batch_.values.size(); ++i) {
    if (__builtin_mul_overflow(batch_.values[i], context.multiplier, &batch_.values[i])) {
      return Error(Code::kCorrupt, fmt::format("sample {}: its value times {} does not fit 64 bits",
                                               i, context.multiplier));
    }
    batch_.samples.value[i] = batch_.values[i];
  }
  profile::Profile& p = batch_.profiles.emplace_back();
  p.resource = 1;
  p.scope = 1;
  p.name = batch_.AddText(context.name);
  p.sample_type = {batch_.AddText(context.type), batch_.AddText(context.unit)};
  p.period_type = {batch_.AddText(context.period_type), batch_.AddText(context.period_unit)};
  p.period = context.period;
  p.time_ns = context.time_ns;
  p.duration_ns = context.duration_ns;
  if (!title.empty()) {
    const Id key = batch_.AddText("profile_name");
    const Id value = batch_.AddText(IsValidUtf8(title) ? title : ReplaceBadUtf8(title));
    batch_.attributes.push_back({key, 0, {profile::Value::Kind::kString, value, 0}});
    p.attributes = {Size32(batch_.attribute_refs.size()), 1};
    batch_.attribute_refs.push_back(Size32(batch_.attributes.size() - 1));
  }
  p.first_sample = Size32(first_sample_);
  p.sample_count = Size32(batch_.samples.size() - first_sample_);
  first_sample_ = batch_.samples.size();
  return {};
}

DecodedProfiles StackBatch::Take(const StacksContext& context) {
  AddOrigin(batch_, context.service, context.labels);
  DecodedProfiles result;
  result.data = std::move(batch_);
  return result;
}

Result<DecodedProfiles> StackBatch::Finish(const StacksContext& context) {
  WHEREFORE_RETURN_IF_ERROR(EndProfile(context));
  return Take(context);
}

void AddOrigin(profile::Batch& batch, std::string_view service, const TextLabels& labels) {
  profile::Resource resource;
  resource.attributes.begin = Size32(batch.own_attributes.size());
  const auto add = [&](std::string_view key, std::string_view value) {
    const Id key_id = batch.AddText(key);
    batch.own_attributes.push_back(
        {key_id, 0, {profile::Value::Kind::kString, batch.AddText(value), 0}});
    ++resource.attributes.count;
  };
  if (!service.empty()) add("service.name", service);
  for (const auto& [key, value] : labels) add(key, value);
  batch.resources.push_back(resource);
  batch.scopes.emplace_back();
}

}  // namespace wherefore::formats
