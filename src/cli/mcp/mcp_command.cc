// `mcp`: the Model Context Protocol over standard input and output, for assistants that are to read
// profiles. Nothing but protocol goes to standard output.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "cli/command.h"
#include "cli/mcp/session.h"
#include "cli/source.h"
#include "cli/version.h"

namespace wherefore::cli {
namespace {

// Ends the program when nobody reads any more.
void WriteToOutput(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = write(STDOUT_FILENO, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(kFine);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

int RunMcp(const Context& context) {
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  McpSession session(
      kVersion,
      [&](const std::string& path, const ToolParameters& parameters, const CancelToken& cancel) {
        return AskFully(context, "GET", path, parameters, {}, {}, cancel);
      },
      WriteToOutput);
  std::string line;
  while (std::getline(std::cin, line)) session.Take(line);
  return kFine;
}

}  // namespace

void AddMcp(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "mcp", "Let an assistant read profiles: Model Context Protocol on standard input/output",
      {"wherefore mcp                                 # the command an assistant starts",
       "WHEREFORE_TOKEN=... wherefore --server https://profiles.example mcp",
       R"(in the assistant's configuration: {"mcpServers": {"wherefore": {"command": "wherefore", "args": ["mcp"]}}})"});
  command->callback([&context] { context.run = [&context] { return RunMcp(context); }; });
}

}  // namespace wherefore::cli
