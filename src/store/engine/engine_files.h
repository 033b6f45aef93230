// Files of the engine that it trusts without looking: the store checks them itself.
//
// A damaged definition of a table keeps the engine from starting, or makes it read rows as
// something else. A part whose range of buckets is wrong is passed over by queries, in silence.
//
// Threads: before or beside the engine, as said; one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

// A hash of each definition of a table or view, by the name of its file.
using DefinitionHashes = std::map<std::string, std::string>;
[[nodiscard]] DefinitionHashes HashDefinitions(const std::string& engine_directory);

// Before the engine starts: definitions that are no longer what they were go to the folder
// `definitions.bad`, for CreateTables to make them again. `ids` are those of the tables; without
// its id a table would be a new, empty one, so its definition stays.
void SetDamagedDefinitionsAside(const std::string& engine_directory, const DefinitionHashes& known,
                                const std::map<std::string, std::string>& ids);

// Tables (physical names) with a part that says it has rows of another bucket than it has.
[[nodiscard]] Result<std::set<std::string>> TablesWithWrongRanges(Transport& transport);
// Writes what a part of this bucket has to say.
void WriteBucketRange(const std::filesystem::path& part, std::uint32_t bucket);

}  // namespace wherefore::store
