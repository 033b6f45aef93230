// Merging and halving survive any bytes; what they make of good ones can be decoded, and keeps the
// number of samples.
#include "formats/fuzzing.h"
#include "formats/otlp/merge.h"

namespace {

using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one file

std::size_t Samples(const std::string& request) {
  const auto decoded = DecodeOtlpProfiles(Input(request));
  RequireOk(decoded, "our own bytes can be decoded");
  return decoded->data.samples.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view parts[] = {all, all.substr(0, size / 2), all.substr(size / 2)};
  static_cast<void>(MergeOtlp(Signal::kProfiles, parts));
  static_cast<void>(HalveOtlp(Signal::kTraces, all));
  const auto decoded = DecodeOtlpProfiles(Input(data, size));
  if (!decoded || decoded->rejected != 0) return 0;
  const std::string plain = EncodeOtlpProfiles(decoded->data);
  const std::string_view twice[] = {plain, plain};
  const auto merged = MergeOtlp(Signal::kProfiles, twice);
  RequireOk(merged, "our own bytes can be merged");
  Require(Samples(*merged) == 2 * Samples(plain), "a merge keeps all samples");
  const auto halves = HalveOtlp(Signal::kProfiles, plain);
  if (halves) {
    Require(Samples((*halves)[0]) + Samples((*halves)[1]) == Samples(plain),
            "halves have all samples");
  }
  return 0;
}
