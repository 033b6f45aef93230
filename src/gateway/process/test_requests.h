// Requests for tests of processors and graphs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/sink.h"

namespace wherefore::gateway {

using TextAttributes = std::vector<std::pair<std::string_view, std::string_view>>;

inline profile::Range AddOwn(profile::TextPool& pool, const TextAttributes& attributes) {
  const profile::Range range{static_cast<std::uint32_t>(pool.own_attributes.size()),
                             static_cast<std::uint32_t>(attributes.size())};
  for (const auto& [key, value] : attributes) {
    pool.own_attributes.push_back(
        {.key = pool.AddText(key),
         .value = {.kind = profile::Value::Kind::kString, .text = pool.AddText(value)}});
  }
  return range;
}

// One resource with the service's name and these attributes.
template <typename B>
profile::Id AddResource(B& batch, std::string_view service, TextAttributes attributes = {}) {
  attributes.emplace(attributes.begin(), "service.name", service);
  batch.resources.push_back({.attributes = AddOwn(batch, attributes)});
  return static_cast<profile::Id>(batch.resources.size() - 1);
}

// A profile of one sample: a stack of one function, and a sample attribute if `key` is not empty.
inline void AddProfile(profile::Batch& batch, profile::Id resource, std::string_view function,
                       std::string_view key = {}, std::string_view value = {}) {
  batch.functions.push_back({.name = batch.AddText(function)});
  batch.lines.push_back({.function = static_cast<profile::Id>(batch.functions.size() - 1)});
  batch.frames.push_back({.lines = {static_cast<std::uint32_t>(batch.lines.size() - 1), 1}});
  batch.stack_frames.push_back(static_cast<profile::Id>(batch.frames.size() - 1));
  batch.stacks.push_back({static_cast<std::uint32_t>(batch.stack_frames.size() - 1), 1});
  profile::Range refs;
  if (!key.empty()) {
    refs = {static_cast<std::uint32_t>(batch.attribute_refs.size()), 1};
    batch.attribute_refs.push_back(static_cast<profile::Id>(batch.attributes.size()));
    batch.attributes.push_back(
        {.key = batch.AddText(key),
         .value = {.kind = profile::Value::Kind::kString, .text = batch.AddText(value)}});
  }
  batch.profiles.push_back(
      {.resource = resource,
       .sample_type = {.type = batch.AddText("cpu"), .unit = batch.AddText("nanoseconds")},
       .first_sample = static_cast<std::uint32_t>(batch.samples.size()),
       .sample_count = 1});
  batch.samples.Append(static_cast<profile::Id>(batch.stacks.size() - 1), refs, 0, 1, {}, {});
}

inline profile::WriteRequest RequestOf(profile::Batch batch) {
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.otlp_bytes = std::make_shared<const std::string>("as sent");
  return request;
}
inline profile::WriteRequest RequestOf(profile::SpanBatch batch) {
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.otlp_bytes = std::make_shared<const std::string>("as sent");
  return request;
}

inline profile::WriteRequest ProfileRequest(std::string_view service, std::string_view function) {
  profile::Batch batch;
  AddProfile(batch, AddResource(batch, service), function);
  return RequestOf(std::move(batch));
}

inline profile::WriteRequest SpanRequest(std::string_view service, std::string_view name,
                                         const TextAttributes& attributes = {}) {
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, service);
  batch.spans.push_back({.resource = resource, .name = batch.AddText(name)});
  batch.spans.back().attributes = AddOwn(batch, attributes);
  return RequestOf(std::move(batch));
}

inline const profile::Batch& ProfilesOf(const profile::WriteRequest& request) {
  return std::get<profile::Batch>(request.data);
}
inline const profile::SpanBatch& SpansOf(const profile::WriteRequest& request) {
  return std::get<profile::SpanBatch>(request.data);
}

// "key=value key=value" of a set of attributes outside the dictionary.
inline std::string OwnText(const profile::TextPool& pool, profile::Range range) {
  std::string text;
  for (const profile::Attribute& a : pool.OwnAttributes(range)) {
    text += std::string(text.empty() ? "" : " ") + std::string(pool.Text(a.key)) + "=" +
            profile::ValueText(pool, a.value);
  }
  return text;
}

// Whether any string of the request has this in it.
inline bool Mentions(const profile::WriteRequest& request, std::string_view text) {
  return std::visit(
      [&](const auto& batch) {
        for (const std::string_view one : batch.strings) {
          if (one.contains(text)) return true;
        }
        return false;
      },
      request.data);
}

}  // namespace wherefore::gateway
