// `wherefore check` for pprof files. Reads the raw message, as otlp/check.cc does.
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/pprof/fields.h"
#include "formats/violations.h"
#include "formats/wire/gzip.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

class PprofChecker {
 public:
  explicit PprofChecker(std::string_view bytes) : bytes_(bytes) {}

  std::vector<Violation> Run() {
    try {
      CheckStrings();
      CheckHeader();
      Table(pprof::profile_field::kMapping, "mapping", mappings_,
            [this](auto m, auto& p) { CheckMapping(m, p); });
      Table(pprof::profile_field::kFunction, "function", functions_,
            [this](auto m, auto& p) { CheckFunction(m, p); });
      Table(pprof::profile_field::kLocation, "location", locations_,
            [this](auto m, auto& p) { CheckLocation(m, p); });
      CheckSamples();
    } catch (const protozero::exception& e) {
      out_.Error("profile", "protobuf", fmt::format("not a protobuf message: {}", e.what()));
    }
    return out_.Take();
  }

 private:
  using Ids = std::unordered_set<std::uint64_t>;

  static std::uint64_t Number(std::string_view bytes, Tag tag) {
    std::uint64_t value = 0;
    for (Pbf r = Reader(bytes); r.next(tag, protozero::pbf_wire_type::varint);)
      value = r.get_uint64();
    return value;
  }
  static std::vector<std::uint64_t> Numbers(std::string_view bytes, Tag tag) {
    std::vector<std::uint64_t> out;
    for (Pbf r = Reader(bytes); r.next(tag);) {
      if (r.wire_type() == kLen) {
        AppendPackedVarints(GetView(r), out);
      } else if (r.wire_type() == protozero::pbf_wire_type::varint) {
        out.push_back(r.get_uint64());
      } else {
        r.skip();
      }
    }
    return out;
  }

  // Ids are checked for every entry; `check` looks at the rest.
  template <typename Check>
  void Table(Tag tag, std::string_view name, Ids& ids, Check check) {
    std::size_t i = 0;
    for (Pbf r = Reader(bytes_); r.next(tag, kLen); ++i) {
      const std::string_view entry = GetView(r);
      const std::string path = fmt::format("{}[{}]", name, i);
      const std::uint64_t id = Number(entry, 1);  // `id` is field 1 in all three tables
      if (id == 0) {
        out_.Error(path, "id", "the id is 0");
      } else if (!ids.insert(id).second) {
        out_.Error(path, "id", fmt::format("the id {} occurs twice", id));
      }
      check(entry, path);
    }
  }
  void Refer(const Ids& ids, std::uint64_t id, bool zero_is_none, const std::string& path) {
    if ((id == 0 && zero_is_none) || ids.contains(id)) return;
    out_.Error(path, "reference", fmt::format("there is no {}", id));
  }
  void Text(std::string_view bytes, Tag tag, const std::string& path) {
    TextIndex(Number(bytes, tag), path);
  }
  void TextIndex(std::uint64_t index, const std::string& path) {
    if (index < strings_.size()) return;
    out_.Error(path, "string-index",
               fmt::format("{} is outside string_table ({} entries)",
                           static_cast<std::int64_t>(index), strings_.size()));
  }

  void CheckStrings() {
    for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kString, kLen);)
      strings_.push_back(GetView(r));
    if (strings_.empty()) out_.Error("string_table", "string-table", "there is no string table");
    if (!strings_.empty() && !strings_[0].empty())
      out_.Error("string_table[0]", "string-table", "must be empty");
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      if (!IsValidUtf8(strings_[i]))
        out_.Error(fmt::format("string_table[{}]", i), "utf8", "text is not UTF-8");
    }
  }

  void CheckHeader() {
    namespace f = pprof::profile_field;
    std::set<std::string_view> type_names;
    for (Pbf r = Reader(bytes_); r.next(f::kSampleType, kLen); ++types_) {
      const std::string_view t = GetView(r);
      const std::string path = fmt::format("sample_type[{}]", types_);
      Text(t, pprof::value_type::kType, path + ".type");
      Text(t, pprof::value_type::kUnit, path + ".unit");
      const std::uint64_t type = Number(t, pprof::value_type::kType);
      if (type < strings_.size()) type_names.insert(strings_[type]);
    }
    if (types_ == 0) out_.Error("sample_type", "sample-types", "there is no sample type");
    for (Pbf r = Reader(bytes_); r.next(f::kPeriodType, kLen);) {
      const std::string_view t = GetView(r);
      Text(t, pprof::value_type::kType, "period_type.type");
      Text(t, pprof::value_type::kUnit, "period_type.unit");
    }
    Text(bytes_, f::kDropFrames, "drop_frames");
    Text(bytes_, f::kKeepFrames, "keep_frames");
    Text(bytes_, f::kDocUrl, "doc_url");
    for (const std::uint64_t c : Numbers(bytes_, f::kComment)) TextIndex(c, "comment");
    const std::uint64_t default_type = Number(bytes_, f::kDefaultSampleType);
    TextIndex(default_type, "default_sample_type");
    if (default_type != 0 && default_type < strings_.size() &&
        !type_names.contains(strings_[default_type])) {
      out_.Warn("default_sample_type", "default-type",
                fmt::format("\"{}\" is none of the sample types", strings_[default_type]));
    }
    for (const Tag tag : {f::kTime, f::kDuration}) {
      if (static_cast<std::int64_t>(Number(bytes_, tag)) < 0)
        out_.Error(tag == f::kTime ? "time_nanos" : "duration_nanos", "time", "negative");
    }
  }

  void CheckMapping(std::string_view m, const std::string& path) {
    Text(m, pprof::mapping::kFilename, path + ".filename");
    Text(m, pprof::mapping::kBuildId, path + ".build_id");
    const std::uint64_t start = Number(m, pprof::mapping::kStart);
    const std::uint64_t limit = Number(m, pprof::mapping::kLimit);
    if (start >= limit && (start != 0 || limit != 0)) {
      out_.Error(path, "mapping-range",
                 fmt::format("memory_start {:#x} is not below memory_limit {:#x}", start, limit));
    }
  }

  void CheckFunction(std::string_view f, const std::string& path) {
    Text(f, pprof::function::kName, path + ".name");
    Text(f, pprof::function::kSystemName, path + ".system_name");
    Text(f, pprof::function::kFilename, path + ".filename");
  }

  void CheckLocation(std::string_view l, const std::string& path) {
    Refer(mappings_, Number(l, pprof::location::kMapping), true, path + ".mapping_id");
    for (Pbf r = Reader(l); r.next(pprof::location::kLine, kLen);) {
      Refer(functions_, Number(GetView(r), pprof::line::kFunction), true,
            path + ".line.function_id");
    }
  }

  void CheckSamples() {
    std::size_t i = 0;
    for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kSample, kLen); ++i) {
      const std::string_view s = GetView(r);
      const std::string path = fmt::format("sample[{}]", i);
      const std::size_t values = Numbers(s, pprof::sample::kValue).size();
      if (values != types_)
        out_.Error(path + ".value", "value-count",
                   fmt::format("{} values for {} sample types", values, types_));
      for (const std::uint64_t id : Numbers(s, pprof::sample::kLocation))
        Refer(locations_, id, false, path + ".location_id");
      CheckLabels(s, path);
    }
  }

  void CheckLabels(std::string_view s, const std::string& path) {
    std::set<std::pair<std::uint64_t, bool>> keys;
    for (Pbf r = Reader(s); r.next(pprof::sample::kLabel, kLen);) {
      const std::string_view l = GetView(r);
      const std::uint64_t key = Number(l, pprof::label::kKey);
      const std::uint64_t str = Number(l, pprof::label::kStr);
      const std::uint64_t num = Number(l, pprof::label::kNum);
      if (key == 0) out_.Error(path + ".label", "label-key", "a label without a key");
      TextIndex(key, path + ".label.key");
      TextIndex(str, path + ".label.str");
      Text(l, pprof::label::kUnit, path + ".label.num_unit");
      if (str != 0 && num != 0)
        out_.Error(path + ".label", "label-value", "both str and num are set");
      if (!keys.insert({key, str != 0}).second)
        out_.Warn(path + ".label", "label-key", "the same key twice");
    }
  }

  std::string_view bytes_;
  Violations out_;
  std::vector<std::string_view> strings_;
  std::size_t types_ = 0;
  Ids mappings_, functions_, locations_;
};

}  // namespace

std::vector<Violation> CheckPprof(std::string_view bytes) {
  if (!IsGzip(bytes)) return PprofChecker(bytes).Run();
  const Result<std::string> plain = Gunzip(bytes, std::size_t{256} << 20);
  if (!plain) return {{"file", "gzip", plain.error().message(), false}};
  return PprofChecker(*plain).Run();
}

}  // namespace wherefore::formats
