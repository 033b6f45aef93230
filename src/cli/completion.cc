// `completion`: shell scripts generated from the parser itself, so they are never out of date.
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"

namespace wherefore::cli {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string Bash(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> commands;
  for (const CLI::App* sub : app.get_subcommands({})) {
    commands.push_back(sub->get_name());
    cases += fmt::format("    {}) options=\"{}\" ;;\n", sub->get_name(),
                         fmt::join(OptionNames(*sub), " "));
  }
  return fmt::format(
      R"(# bash completion for wherefore; install with: wherefore completion bash > /etc/bash_completion.d/wherefore
_wherefore() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" options="{}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} $options" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _wherefore wherefore
)",
      fmt::join(OptionNames(app), " "), fmt::join(commands, " "), cases);
}

std::string Zsh(const CLI::App& app) {
  return "#compdef wherefore\nautoload -U +X bashcompinit && bashcompinit\n" + Bash(app);
}

std::string Fish(const CLI::App& app) {
  std::string out = "# fish completion for wherefore\n";
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::string what = sub->get_description();
    std::erase(what, '\'');
    out += fmt::format("complete -c wherefore -n __fish_use_subcommand -a {} -d '{}'\n",
                       sub->get_name(), what);
    for (const std::string& name : OptionNames(*sub)) {
      out += fmt::format("complete -c wherefore -n '__fish_seen_subcommand_from {}' -l {}\n",
                         sub->get_name(), name.substr(2));
    }
  }
  return out;
}

}  // namespace

void AddCompletion(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(app, "completion", "Print a completion script for a shell",
                                 {"wherefore completion bash > /etc/bash_completion.d/wherefore",
                                  "wherefore completion fish | source"});
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &context, shell] {
    context.run = [&app, shell] {
      fmt::print("{}", *shell == "fish" ? Fish(app) : *shell == "zsh" ? Zsh(app) : Bash(app));
      return kFine;
    };
  });
}

}  // namespace wherefore::cli
