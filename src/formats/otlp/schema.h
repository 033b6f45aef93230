// The shape of OTLP messages as data (wire/schema.h).
#pragma once

#include "formats/wire/schema.h"

namespace wherefore::formats {

[[nodiscard]] const Schema& ProfilesSchema();
[[nodiscard]] const Schema& TracesSchema();

}  // namespace wherefore::formats
