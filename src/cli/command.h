// What the commands share: exit codes, options, output.
//
// A command is a function that adds itself to the parser and, when chosen, returns an exit code.
// The program is single-threaded except for `serve`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace wherefore::cli {

// Fixed: scripts rely on them.
enum ExitCode : int {
  kFine = 0,
  kFound = 1,  // a regression, a violation, a failed check, nothing found
  kUsage = 2,
  kFailed = 3,  // server or I/O error
};

// `wherefore symbols-worker`: what serve runs itself as to read debug information; not for people.
inline constexpr const char* kSymbolsWorker = "symbols-worker";

// What the store and its engine write is for its owner only: directories 0700, files 0600.
inline constexpr unsigned kPrivateMask = 0077;

struct Context {
  std::string server = "http://127.0.0.1:4040";
  bool server_named = false;  // by the user: --server or WHEREFORE_SERVER
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
void AddCheck(CLI::App& app, Context& context);
void AddDoctor(CLI::App& app, Context& context);
void AddDelete(CLI::App& app, Context& context);
void AddBackup(CLI::App& app, Context& context);
void AddRestore(CLI::App& app, Context& context);
void AddCompletion(CLI::App& app, Context& context);

// "error: ..." on stderr; the exit code that fits: kUsage for a question we cannot understand, else
// kFailed.
int Fail(const Error& error);
// A subcommand with examples at the end of its help.
CLI::App* NewCommand(CLI::App& app, const std::string& name, const std::string& what,
                     const std::vector<std::string>& examples);

// Columns of the terminal (COLUMNS, the terminal itself, else 100).
[[nodiscard]] int TerminalWidth();
// Names come from outside: control characters are written as \x1b, so that none reaches the
// terminal.
[[nodiscard]] std::string Printable(std::string_view text);
// Printable text of at most `width` characters on the screen (UTF-8 aware), "…" where it was cut.
[[nodiscard]] std::string Fit(std::string_view text, std::size_t width);
[[nodiscard]] std::size_t ScreenWidth(std::string_view text);

[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

}  // namespace wherefore::cli
