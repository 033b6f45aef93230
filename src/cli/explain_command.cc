// `explain`: why a request, or the requests of an endpoint, took as long as they did.
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

struct ExplainCommand {
  std::string what, since;
  bool markdown = false;
};

bool IsTraceId(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

int Run(const Context& context, const ExplainCommand& command) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (IsTraceId(command.what)) {
    parameters.emplace_back("trace", command.what);
  } else {
    const std::size_t blank = command.what.find(' ');
    parameters.emplace_back("service", command.what.substr(0, blank));
    if (blank != std::string::npos) parameters.emplace_back("name", command.what.substr(blank + 1));
    if (!command.since.empty()) parameters.emplace_back("since", command.since);
  }
  if (!context.json) parameters.emplace_back("format", command.markdown ? "markdown" : "text");
  const auto body = Ask(context, "GET", "/api/v1/explain", parameters);
  if (!body) {
    const int code = Fail(body.error());
    return body.error().code() == Code::kNotFound ? kFound : code;
  }
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  // Names come from outside; line ends are ours.
  std::string_view rest = *body;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    fmt::print("{}\n", Printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kFine;
}

}  // namespace

void AddExplain(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "explain", "Why a request was slow, or what is up with a service",
                 {"wherefore explain 0102030405060708090a0b0c0d0e0f10",
                  "wherefore explain checkout --since 1h   # what changed, costs, fires",
                  "wherefore explain 'checkout POST /pay' --since 24h",
                  "wherefore explain 'checkout POST /pay' --markdown"});
  auto options = std::make_shared<ExplainCommand>();
  command->add_option("what", options->what, "Trace id, service, or service and name of its spans")
      ->required();
  command->add_option("--since", options->since, "How far back, if it is no trace (default 1h)");
  command->add_flag("--markdown", options->markdown, "For tickets and chats");
  command->callback([&context, options] {
    context.run = [&context, options] { return Run(context, *options); };
  });
}

}  // namespace wherefore::cli
