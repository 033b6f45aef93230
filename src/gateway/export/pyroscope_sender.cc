// Pyroscope's Push: one gzip-compressed pprof file per profile, all of a batch in one request.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "formats/pyroscope/upload.h"
#include "gateway/export/senders.h"
#include "net/url.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

constexpr std::size_t kMaxLabels = 30;  // Pyroscope refuses more
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxValueBytes = 2048;

// Without the rest of a character that was cut in two.
std::string Shortened(std::string text) {
  if (text.size() <= kMaxValueBytes) return text;
  std::size_t end = kMaxValueBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text;
}

formats::TextLabels LabelsOf(const profile::Batch& batch, const profile::Profile& p) {
  const profile::Resource& resource = batch.resources[p.resource];
  formats::TextLabels labels = {
      {"__name__", profile::TypeOf(batch, p).name},
      {"service_name", Shortened(std::string(profile::ServiceName(batch, resource)))},
      {"__delta__", "false"}};
  std::set<std::string, std::less<>> known = {"__name__", "service_name", "service.name",
                                              "__delta__"};
  for (const profile::Attribute& attribute : batch.OwnAttributes(resource.attributes)) {
    std::string name(batch.Text(attribute.key));
    std::string value = Shortened(profile::ValueText(batch, attribute.value));
    const bool usable = !name.empty() && name.size() <= kMaxNameBytes && !value.empty();
    if (!usable || labels.size() >= kMaxLabels || !known.insert(name).second) continue;
    labels.emplace_back(std::move(name), std::move(value));
  }
  return labels;
}

class PyroscopeSender final : public Sender {
 public:
  PyroscopeSender(const ExporterOptions& options, std::unique_ptr<net::HttpClient> client)
      : options_(options),
        url_(JoinUrl(options.endpoint, "/push.v1.PusherService/Push")),
        client_(std::move(client)) {}

  [[nodiscard]] bool Takes(formats::Signal signal) const override {
    return signal == formats::Signal::kProfiles;
  }

  Outcome Send(Request request, const CancelToken& stop) override {
    const auto body = Encode(std::move(request.bytes));
    if (!body) return {.kind = Outcome::Kind::kRefused, .message = body.error().message()};
    if (body->empty()) return {};
    net::Headers headers = HeadersFor(options_, request.tenant);
    headers["Content-Type"] = "application/proto";
    const auto response = client_->Send({.url = url_,
                                         .body = *body,
                                         .headers = std::move(headers),
                                         .timeout_ns = options_.timeout_ns,
                                         .cancel = stop});
    return OutcomeOf(response, url_);
  }

 private:
  // A PushRequest; several of them one after the other are one with all their series.
  [[nodiscard]] Result<std::string> Encode(std::string bytes) const {
    WHEREFORE_ASSIGN_OR_RETURN(
        formats::DecodedProfiles decoded,
        formats::DecodeOtlpProfiles(std::make_shared<const std::string>(std::move(bytes))));
    profile::Batch& batch = decoded.data;
    const std::vector<profile::Profile> all = std::move(batch.profiles);
    std::string body;
    for (const profile::Profile& p : all) {
      batch.profiles = {p};
      WHEREFORE_ASSIGN_OR_RETURN(const std::string pprof, formats::EncodePprof(batch));
      body += formats::EncodePush(LabelsOf(batch, p), GzipFor(options_, pprof));
    }
    return body;
  }

  const ExporterOptions options_;
  const std::string url_;
  const std::unique_ptr<net::HttpClient> client_;
};

}  // namespace

Result<std::unique_ptr<Sender>> MakePyroscopeSender(const ExporterOptions& options) {
  const auto parsed = net::ParseUrl(options.endpoint);
  if (!parsed) return Error::At(Code::kInvalid, "endpoint", parsed.error().message());
  WHEREFORE_ASSIGN_OR_RETURN(auto client, MakeHttpClient(options));
  return std::make_unique<PyroscopeSender>(options, std::move(client));
}

}  // namespace wherefore::gateway
