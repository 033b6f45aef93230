// `delete`, `backup`, `restore`: administration of stored data.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "store/store.h"

namespace wherefore::cli {
namespace {

// Shows the progress of a delete on the terminal, for as long as it lives.
class DeleteProgress {
 public:
  explicit DeleteProgress(const Context& context) {
    if (isatty(STDERR_FILENO) == 0) return;
    thread_ = std::jthread([&context](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any stopped;
      std::unique_lock lock(mutex);
      while (!stop.stop_requested()) {
        stopped.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; });
        Show(context);
      }
      fmt::print(stderr, "\r\033[K");
    });
  }

 private:
  static void Show(const Context& context) {
    const auto status = Ask(context, "GET", "/api/v1/status", {});
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (!status || parser.parse(*status).get(root) != simdjson::SUCCESS) return;
    for (const simdjson::dom::element part : root["parts"]) {
      const std::string step = JsonText(part["facts"]["deleting"]);
      if (!step.empty()) fmt::print(stderr, "\r\033[Kdeleting: {}", step);
    }
  }

  std::jthread thread_;
};

}  // namespace

void AddDelete(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "delete", "Remove profiles and spans of a selection in a time range, for good",
      {"wherefore delete 'checkout{version=leaky}' --from 2026-11-01 --to 2026-11-15",
       "wherefore delete wrong-name --from -2d --to now --yes"});
  auto what = std::make_shared<std::string>();
  auto from = std::make_shared<std::string>();
  auto to = std::make_shared<std::string>();
  auto yes = std::make_shared<bool>(false);
  auto whole_hours = std::make_shared<bool>(false);
  command->add_option("selector", *what, "service{label=value}")->required();
  command->add_option("--from", *from, "Start")->required();
  command->add_option("--to", *to, "End")->required();
  command->add_flag("--yes", *yes, "Do not ask");
  command->add_flag("--whole-hours", *whole_hours,
                    "Where samples are gone, delete every hour of the service that is touched: "
                    "sums by hour have no labels but the version, and cannot be cut");
  command->callback([&context, what, from, to, yes, whole_hours] {
    context.run = [&context, what, from, to, yes, whole_hours]() -> int {
      if (!*yes) {
        if (isatty(STDIN_FILENO) == 0)
          return Fail(
              Error(Code::kInvalid, "delete asks before it removes; without a terminal add --yes"));
        fmt::print(stderr, "Remove all data of {} from {} to {}? It cannot be undone. [y/N] ",
                   *what, *from, *to);
        std::string answer;
        std::getline(std::cin, answer);
        if (answer != "y" && answer != "yes") return kFound;
      }
      Result<std::string> body = Error(Code::kInternal, "not asked");
      {
        const DeleteProgress progress(context);
        body = Ask(context, "POST", "/api/v1/delete",
                   {{"query", *what},
                    {"from", *from},
                    {"to", *to},
                    {"whole_hours", *whole_hours ? "true" : "false"}});
      }
      if (!body) return Fail(body.error());
      fmt::print("{}\n", *body);
      return kFine;
    };
  });
}

void AddBackup(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "backup", "Copy everything a running server has stored into a new folder, verified",
      {"wherefore backup 2026-11-15   # below what `serve --backup-root` names",
       "wherefore backup /backups/2026-11-15"});
  auto target = std::make_shared<std::string>();
  command
      ->add_option("folder", *target,
                   "New folder on the server's machine, below its --backup-root; a relative name "
                   "is taken from there")
      ->required();
  command->callback([&context, target] {
    context.run = [&context, target]() -> int {
      const auto body = Ask(context, "POST", "/api/v1/backup", {{"target", *target}});
      if (!body) return Fail(body.error());
      fmt::print("{}\n", *body);
      return kFine;
    };
  });
}

void AddRestore(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "restore", "Make a data directory from a backup, verified (no server may use it)",
      {"wherefore restore /backups/2026-11-15 --data /var/lib/wherefore"});
  auto source = std::make_shared<std::string>();
  auto data = std::make_shared<std::string>("data");
  command->add_option("folder", *source, "Folder that `wherefore backup` wrote")->required();
  command->add_option("--data", *data, "Data directory to create")->capture_default_str();
  command->callback([&context, source, data] {
    context.run = [source, data]() -> int {
      umask(kPrivateMask);
      const auto summary = store::Store::Restore(*source, *data);
      if (!summary) return Fail(summary.error());
      fmt::print("{}\n", *summary);
      return kFine;
    };
  });
}

}  // namespace wherefore::cli
