"""`rumflow completion`: a script that completes commands and options in the shell."""

from __future__ import annotations

import argparse

from rumflow.cli.answers import OK

EXAMPLE = "rumflow completion bash >> ~/.bashrc"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; `arguments.parser` has the options of all commands."""
    words: dict[str, list[str]] = {}
    for action in arguments.parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                options = [o for a in one._actions for o in a.option_strings if o.startswith("--")]
                words[name] = options + [
                    str(c) for a in one._actions if not a.option_strings and a.choices for c in a.choices
                ]
    print(_script(arguments.shell, words))
    return OK


def _script(shell: str, words: dict[str, list[str]]) -> str:
    if shell == "fish":
        lines = [f"complete -c rumflow -n __fish_use_subcommand -a {name}" for name in words]
        for name, options in words.items():
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines += [
                f"complete -c rumflow {seen} " + (f"-l {o[2:]}" if o.startswith("--") else f"-a {o}") for o in options
            ]
        return "\n".join(lines)
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, options in words.items())
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"""{head}_rumflow() {{
  local words cur="${{COMP_WORDS[COMP_CWORD]}}"
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(words)}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(words)}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _rumflow rumflow"""
