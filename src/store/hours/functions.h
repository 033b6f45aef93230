// Sums of an hour by function: what each did itself and with all it called, how often it was
// observed, and how much instances differ in that, so that two windows can be compared without
// samples.
//
// Instances are the groups: e of a group is what all of its functions did together, x what one of
// them did. Function 0 stands for all of them. Names are as they were sent: what debug information
// would add is not known here.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/hours/hours.h"
#include "store/read.h"
#include "store/write/rows.h"

namespace wherefore::store {

// Which functions of a service and bucket have a row in `function_names`.
class NamedFunctions {
 public:
  using Load =
      std::function<Result<std::vector<std::uint64_t>>(const DictionaryKey& of_service_and_bucket)>;
  explicit NamedFunctions(Load load) : load_(std::move(load)) {}

  Result<std::unordered_set<std::uint64_t>*> Of(const DictionaryKey& dictionary);
  // Names may have gone.
  void Forget() { known_.clear(); }

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;  // tenant, service, bucket
  Load load_;
  std::map<Key, std::unordered_set<std::uint64_t>> known_;
};

// Versions of series, by number, as they stand in rows.
struct SeriesVersions {
  std::vector<std::string> texts;
  std::vector<std::uint32_t> of_series;  // by id; ids that are not there are as 0

  [[nodiscard]] std::uint32_t Of(std::uint32_t series) const {
    return of_series[series < of_series.size() ? series : 0];
  }
};

// Adds rows of `function_hours`, and of `function_names` where names are new.
[[nodiscard]] Result<> EncodeFunctions(Reader& reader, const HourSamples& samples,
                                       const std::vector<SeriesRow>& series,
                                       const SeriesVersions& versions, NamedFunctions& names,
                                       RowSet& rows, const CancelToken& cancel);

// How a function is told apart in `function_hours`: never 0.
[[nodiscard]] std::uint64_t FunctionHash(std::string_view name, std::string_view module);

}  // namespace wherefore::store
