#include "formats/link_labels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace wherefore::formats {
namespace {

template <std::size_t N>
bool ReadHexId(std::string_view hex, std::array<std::uint8_t, N>& out) {
  if (hex.size() != 2 * N) return false;
  const std::optional<std::string> bytes = FromHex(hex);
  if (!bytes) return false;
  std::array<std::uint8_t, N> id{};
  std::memcpy(id.data(), bytes->data(), N);
  if (id == std::array<std::uint8_t, N>{}) return false;
  out = id;
  return true;
}

// A 64-bit decimal number in the last eight bytes, big-endian.
template <std::size_t N>
bool ReadDecimalId(std::string_view text, std::array<std::uint8_t, N>& out) {
  const std::optional<std::uint64_t> number = ParseUint(text);
  if (!number || *number == 0) return false;
  out = {};
  for (std::size_t i = 0; i < 8; ++i) {
    out[N - 1 - i] = static_cast<std::uint8_t>(*number >> (8 * i));
  }
  return true;
}

}  // namespace

bool IsLinkLabel(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kKeys = {
      "trace_id",    "span_id",  "profile_id", "otel.traceid",
      "otel.spanid", "trace id", "span id",    "local root span id"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

bool LinkReader::Read(std::string_view key, std::string_view text) {
  if (key == "trace_id" || key == "otel.traceid") {
    if (!ReadHexId(text, link_.trace)) return false;
    return trace_ = true;
  }
  if (key == "trace id") {
    profile::TraceId trace{};
    if (!ReadHexId(text, trace) && !ReadDecimalId(text, trace)) return false;
    if (!trace_) link_.trace = trace;
    return trace_ = true;
  }
  const bool hex = key == "span_id" || key == "profile_id" || key == "otel.spanid";
  const int rank = hex || key == "span id" ? 2 : key == "local root span id" ? 1 : 0;
  if (rank == 0) return false;
  profile::SpanId span{};
  if (!(hex ? ReadHexId(text, span) : ReadDecimalId(text, span))) return false;
  if (rank > rank_) {
    link_.span = span;
    rank_ = rank;
  }
  return true;
}

void LinkSamplesByAttributes(profile::Batch& batch) {
  // Few requests have one, so search the table, not every sample.
  constexpr std::size_t kLongestId = 32;
  std::vector<bool> links(batch.attributes.size());
  for (std::size_t i = 1; i < links.size(); ++i) {
    const profile::Attribute& a = batch.attributes[i];
    // A million attributes may share a long value, so do not copy it for each.
    links[i] = batch.Text(a.value.text).size() <= kLongestId &&
               LinkReader().Read(batch.Text(a.key), ValueText(batch, a.value));
  }
  if (std::ranges::find(links, true) == links.end()) return;
  for (std::size_t s = 0; s < batch.samples.size(); ++s) {
    const profile::Link& own = batch.links[batch.samples.link[s]];
    if (own.span != profile::SpanId{}) continue;
    LinkReader reader;
    for (const profile::Id ref : batch.AttributeRefs(batch.samples.attributes[s])) {
      if (!links[ref]) continue;
      const profile::Attribute& a = batch.attributes[ref];
      (void)reader.Read(batch.Text(a.key), ValueText(batch, a.value));
    }
    if (!reader.found()) continue;
    const profile::Link& last = batch.links.back();
    if (last.span != reader.link().span || last.trace != reader.link().trace) {
      batch.links.push_back(reader.link());
    }
    batch.samples.link[s] = static_cast<profile::Id>(batch.links.size() - 1);
  }
}

}  // namespace wherefore::formats
