// The key of a dictionary as columns of a statement. For the files of this module.
#pragma once

#include <cstdint>

#include "store/engine/columns.h"
#include "store/read.h"

namespace wherefore::store {

inline constexpr auto kKeyColumns = Columns<DictionaryKey>(
    Col("tenant", &DictionaryKey::tenant), Col("service", &DictionaryKey::service),
    Col("bucket", &DictionaryKey::bucket), Col("writer", &DictionaryKey::writer));

// The same where all rows are of one tenant.
constexpr auto KeyColumnsOf(std::uint32_t tenant) {
  return Columns<DictionaryKey>(
      Constant(tenant, &DictionaryKey::tenant), Col("service", &DictionaryKey::service),
      Col("bucket", &DictionaryKey::bucket), Col("writer", &DictionaryKey::writer));
}

}  // namespace wherefore::store
