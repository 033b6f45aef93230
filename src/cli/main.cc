// wherefore: one program with many commands. This file only parses and dispatches.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/token.h"
#include "cli/version.h"
#include "symbols/worker.h"

namespace wherefore::cli {
namespace {

int Main(int argc, char** argv) {
  CLI::App app{
      "Wherefore: continuous profiling on OpenTelemetry. Traces say where a request spent its "
      "time, profiles say why.",
      "wherefore"};
  app.set_version_flag("--version", std::string("wherefore ") + kVersion);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  Context context;
  // NOLINTBEGIN(concurrency-mt-unsafe): no thread has been started yet
  context.token = TakeVariable("WHEREFORE_TOKEN");
  context.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  // NOLINTEND(concurrency-mt-unsafe)
  const CLI::Option* const server = app.add_option("--server", context.server, "Server to ask")
                                        ->envname("WHEREFORE_SERVER")
                                        ->capture_default_str();
  std::string token_file;
  app.add_option("--token-file", token_file,
                 "File with the server's bearer token (else WHEREFORE_TOKEN)");
  app.add_flag("--json", context.json, "Print JSON");
  app.footer(
      "Start with: wherefore serve, then wherefore push FILE. 'wherefore COMMAND --help' has "
      "examples.");
  for (const AddCommand add :
       {AddServe,     AddRun,  AddPush,   AddQuery,  AddTop,       AddTree,   AddFlame,
        AddDiff,      AddList, AddTrace,  AddSlow,   AddExplain,   AddWorse,  AddRegressions,
        AddInsights,  AddSql,  AddCheck,  AddDoctor, AddDelete,    AddBackup, AddRestore,
        AddProfiling, AddMcp,  AddAlerts, AddPin,    AddCompletion}) {
    add(app, context);
  }
  std::vector<std::string> arguments = TakeArguments(argc, argv);
  std::ranges::reverse(arguments);  // the parser wants them reversed
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kFine : kUsage;
  }
  context.server_named = server->count() > 0;
  if (!token_file.empty()) {
    Result<std::string> token = ReadToken(token_file);
    if (!token) return Fail(token.error());
    context.token = *std::move(token);
  }
  return context.run();
}

}  // namespace
}  // namespace wherefore::cli

int main(int argc, char** argv) {
  // serve runs this program again as the process that reads debug information,
  if (argc == 2 && std::string_view(argv[1]) == wherefore::cli::kSymbolsWorker) {
    return wherefore::symbols::RunWorker(STDIN_FILENO);
  }
  // and doctor as the process in which it tries libwherefore.
  if (argc == 2 && std::string_view(argv[1]) == wherefore::cli::kSdkProbe) {
    return wherefore::cli::RunSdkProbe();
  }
  return wherefore::cli::Main(argc, argv);
}
