// engine_query DATA_DIRECTORY SQL: asks the tables of a stopped server, by the engine itself. The
// statement selects one column of texts, of which each becomes a line. For tests of what is really
// stored.
#include <string>

#include <fmt/format.h>

#include "store/engine/embedded_transport.h"
#include "store/engine/query_rows.h"

int main(int argc, char** argv) {
  using namespace wherefore;
  if (argc != 3) return 2;
  const auto rows = [&]() -> Result<std::vector<std::string>> {
    WHEREFORE_ASSIGN_OR_RETURN(const auto engine,
                               store::OpenEmbedded({.path = std::string(argv[1]) + "/engine"}));
    return store::QueryColumn<std::string>(*engine, argv[2]);
  }();
  if (!rows) {
    fmt::print(stderr, "{}\n", rows.error().message());
    return 1;
  }
  for (const std::string& row : *rows) fmt::print("{}\n", row);
  return 0;
}
