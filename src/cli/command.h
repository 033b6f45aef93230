// What the commands share: exit codes, options, output.
//
// A command is a function that adds itself to the parser and, if chosen, returns an exit code. All
// commands except `serve` are single-threaded.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace wherefore::cli {

// Never change: scripts rely on them.
enum ExitCode : int {
  kFine = 0,
  kFound = 1,  // a regression, a violation, a failed check, nothing found
  kUsage = 2,
  kFailed = 3,  // server or I/O error
};

// `wherefore symbols-worker`: serve runs itself this way to read debug information. Not for users.
inline constexpr const char* kSymbolsWorker = "symbols-worker";

// Files of the store and its engine are for their owner only: directories 0700, files 0600.
inline constexpr unsigned kPrivateMask = 0077;

struct Context {
  std::string server = "http://127.0.0.1:4040";
  bool server_named = false;  // by --server or WHEREFORE_SERVER
  std::string token;
  bool json = false;
  bool color = false;
  std::function<int()> run;  // set by the chosen command
};

using AddCommand = void (*)(CLI::App& app, Context& context);

void AddServe(CLI::App& app, Context& context);
void AddRun(CLI::App& app, Context& context);
void AddPush(CLI::App& app, Context& context);
void AddQuery(CLI::App& app, Context& context);
void AddTop(CLI::App& app, Context& context);
void AddTree(CLI::App& app, Context& context);
void AddFlame(CLI::App& app, Context& context);
void AddDiff(CLI::App& app, Context& context);
void AddList(CLI::App& app, Context& context);
void AddTrace(CLI::App& app, Context& context);
void AddSlow(CLI::App& app, Context& context);
void AddExplain(CLI::App& app, Context& context);
void AddInsights(CLI::App& app, Context& context);
void AddAlerts(CLI::App& app, Context& context);
void AddSql(CLI::App& app, Context& context);
void AddWorse(CLI::App& app, Context& context);
void AddRegressions(CLI::App& app, Context& context);
void AddCheck(CLI::App& app, Context& context);
void AddDoctor(CLI::App& app, Context& context);
void AddPin(CLI::App& app, Context& context);
void AddDelete(CLI::App& app, Context& context);
void AddBackup(CLI::App& app, Context& context);
void AddRestore(CLI::App& app, Context& context);
void AddProfiling(CLI::App& app, Context& context);
void AddMcp(CLI::App& app, Context& context);
void AddCompletion(CLI::App& app, Context& context);

inline constexpr int kMaxRows = 1'000'000;
// A share as people write it: 2% or 0.02.
[[nodiscard]] CLI::Validator AsShare();

// Prints "error: ..." on stderr and returns the exit code: kUsage for invalid input, else kFailed.
int Fail(const Error& error);
// A subcommand with examples at the end of its help.
CLI::App* NewCommand(CLI::App& app, const std::string& name, const std::string& what,
                     const std::vector<std::string>& examples);

// Columns of the terminal (COLUMNS, the terminal itself, else 100).
[[nodiscard]] int TerminalWidth();
// Text safe for a terminal: control characters in names from outside are written as \x1b.
[[nodiscard]] std::string Printable(std::string_view text);
// Printable text cut to `width` characters (UTF-8 aware), with "…" if it was cut.
[[nodiscard]] std::string Fit(std::string_view text, std::size_t width);
[[nodiscard]] std::size_t ScreenWidth(std::string_view text);
// The name of a function in that width, shortened as people would (profile/shown_name.h).
[[nodiscard]] std::string FitName(std::string_view name, std::size_t width);

[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

}  // namespace wherefore::cli
