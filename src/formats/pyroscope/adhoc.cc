#include "formats/pyroscope/adhoc.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/pyroscope/schema.h"
#include "formats/wire/json.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {
namespace {

using Texts = std::array<std::string AdHocRequest::*, 5>;  // by field number

// Every method has its texts first, then max_nodes.
struct Layout {
  const Schema* schema;
  Texts texts;
  Tag max_nodes;
};

Layout LayoutOf(AdHocMethod method) {
  static const Schema kNothing{};
  switch (method) {
    case AdHocMethod::kUpload:
      return {&AdHocUploadSchema(), {nullptr, &AdHocRequest::name, &AdHocRequest::profile}, 3};
    case AdHocMethod::kGet:
      return {&AdHocGetSchema(), {nullptr, &AdHocRequest::id, &AdHocRequest::profile_type}, 3};
    case AdHocMethod::kDiff:
      return {&AdHocDiffSchema(),
              {nullptr, &AdHocRequest::id, &AdHocRequest::right_id, &AdHocRequest::profile_type},
              4};
    case AdHocMethod::kList:
      break;
  }
  return {&kNothing, {}, 0};
}

AdHocRequest Read(Pbf r, const Layout& layout) {
  AdHocRequest out;
  while (r.next()) {
    const Tag tag = r.tag();
    const auto key = static_cast<std::uint32_t>(r.tag_and_type());
    if (tag < layout.texts.size() && layout.texts[tag] != nullptr && key == LenKey(tag)) {
      out.*layout.texts[tag] = GetView(r);
    } else if (layout.max_nodes != 0 && key == VarintKey(layout.max_nodes)) {
      out.max_nodes = static_cast<std::int64_t>(r.get_uint64());
    } else {
      r.skip();
    }
  }
  return out;
}

void AddTexts(PbfWriter& w, Tag tag, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) w.add_string(tag, text);
}

std::string InForm(const std::string& binary, const Schema& schema, bool json) {
  return json ? BinaryToJson(binary, schema) : binary;
}

}  // namespace

Result<AdHocRequest> DecodeAdHocRequest(AdHocMethod method, std::string_view body, bool json) {
  const Layout layout = LayoutOf(method);
  std::string binary;
  if (json) {
    WHEREFORE_ASSIGN_OR_RETURN(binary, JsonToBinary(body.empty() ? "{}" : body, *layout.schema));
    body = binary;
  }
  AdHocRequest out;
  try {
    out = Read(Reader(body), layout);
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("the request is not protobuf: {}", e.what()));
  }
  if (!out.profile.empty()) {
    auto bytes = FromBase64(out.profile);
    if (!bytes) return Error(Code::kCorrupt, "profile: base64 is expected");
    out.profile = *std::move(bytes);
  }
  return out;
}

std::string EncodeAdHocProfile(const AdHocProfile& profile, bool json) {
  std::string out;
  PbfWriter w(out);
  w.add_string(1, profile.id);
  w.add_string(2, profile.name);
  w.add_int64(3, profile.uploaded_ms);
  w.add_string(4, profile.profile_type);
  AddTexts(w, 5, profile.profile_types);
  w.add_string(6, profile.flamebearer);
  return InForm(out, AdHocProfileSchema(), json);
}

std::string EncodeAdHocList(const std::vector<AdHocProfile>& profiles, bool json) {
  std::string out;
  PbfWriter w(out);
  for (const AdHocProfile& profile : profiles) {
    PbfWriter one(w, 1);
    one.add_string(1, profile.id);
    one.add_string(2, profile.name);
    one.add_int64(3, profile.uploaded_ms);
  }
  return InForm(out, AdHocListSchema(), json);
}

std::string EncodeAdHocDiff(const std::vector<std::string>& types, std::string_view flamebearer,
                            bool json) {
  std::string out;
  PbfWriter w(out);
  AddTexts(w, 1, types);
  w.add_string(2, flamebearer.data(), flamebearer.size());
  return InForm(out, AdHocDiffAnswerSchema(), json);
}

}  // namespace wherefore::formats
