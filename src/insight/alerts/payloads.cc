#include "insight/alerts/payloads.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"

namespace wherefore::insight {
namespace {

constexpr const char* kNotYet = "0001-01-01T00:00:00Z";

void WriteTexts(JsonWriter& json, std::string_view key, const AlertLabels& texts) {
  json.Key(key).BeginObject();
  for (const auto& [name, text] : texts) json.Field(name, text);
  json.EndObject();
}

// What all of them have, with the same value.
AlertLabels Common(std::span<const Notice> notices, AlertLabels Notice::* what) {
  AlertLabels common = notices.front().*what;
  for (const Notice& notice : notices.subspan(1)) {
    std::erase_if(common, [&](const auto& text) {
      const auto here = (notice.*what).find(text.first);
      return here == (notice.*what).end() || here->second != text.second;
    });
  }
  return common;
}

void WriteNotice(JsonWriter& json, const Notice& notice) {
  WriteTexts(json, "labels", notice.labels);
  WriteTexts(json, "annotations", notice.annotations);
  json.Field("startsAt", FormatTime(notice.starts_ns));
}

}  // namespace

std::string AlertmanagerBody(std::span<const Notice> notices, std::int64_t now_ns) {
  std::string body;
  JsonWriter json(body);
  json.BeginArray();
  for (const Notice& notice : notices) {
    const std::int64_t ends =
        notice.firing() ? now_ns + 4 * std::max(notice.every_ns, kMinute) : notice.ends_ns;
    json.BeginObject();
    WriteNotice(json, notice);
    json.Field("endsAt", FormatTime(ends)).Field("generatorURL", notice.link).EndObject();
  }
  json.EndArray();
  return body;
}

std::string WebhookBody(std::span<const Notice> notices, const std::string& receiver,
                        const std::string& external_url) {
  const bool firing = std::ranges::any_of(notices, &Notice::firing);
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Field("version", "4").Field("groupKey", "{}:{}").Field("truncatedAlerts", 0);
  json.Field("status", firing ? "firing" : "resolved").Field("receiver", receiver);
  WriteTexts(json, "groupLabels", {});
  WriteTexts(json, "commonLabels", Common(notices, &Notice::labels));
  WriteTexts(json, "commonAnnotations", Common(notices, &Notice::annotations));
  json.Field("externalURL", external_url).Key("alerts").BeginArray();
  for (const Notice& notice : notices) {
    json.BeginObject().Field("status", notice.firing() ? "firing" : "resolved");
    WriteNotice(json, notice);
    json.Field("endsAt", notice.firing() ? std::string(kNotYet) : FormatTime(notice.ends_ns));
    json.Field("generatorURL", notice.link);
    json.Field("fingerprint", FingerprintText(notice.fingerprint)).EndObject();
  }
  json.EndArray().EndObject();
  return body;
}

}  // namespace wherefore::insight
