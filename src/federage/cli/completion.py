"""`federage completion`: what a shell offers on Tab, written from the parser itself."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from federage.cli.help import Parser

HELP = """\
Print a script that makes a shell complete federage's commands, options and names.

Usage: federage completion SHELL

Arguments:
  SHELL        bash, zsh or fish

Options:
  -h, --help   Show this

Examples:
  federage completion bash > ~/.local/share/bash-completion/completions/federage
  federage completion zsh > ~/.zfunc/_federage
  federage completion fish > ~/.config/fish/completions/federage.fish
"""


def add(commands: Any) -> None:
    command = commands.add_parser("completion", text=HELP)
    command.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS))
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    from federage.cli.main import parser

    print(SHELLS[arguments.shell](list(places(parser()))), end="")
    return 0


class Place(NamedTuple):
    """A command, and what may follow it.

    Attributes:
      path: the words before, such as "federage data get".
      words: commands below it, or names it takes.
      options: all of them.
      values: those of each option that takes one, as far as they are known.
    """

    path: str
    words: list[str]
    options: list[str]
    values: dict[str, list[str]]


def places(parser: Parser) -> Iterator[Place]:
    """Every command, from the top down."""
    words: list[str] = []
    values: dict[str, list[str]] = {}
    below: list[Parser] = []
    for action in parser._actions:
        if isinstance(action.choices, dict):
            commands = cast("dict[str, Parser]", action.choices)
            words += commands
            below += commands.values()
            continue
        named = [name for name in (*action.option_strings, action.dest) if name in parser.known]
        known = parser.known[named[0]]() if named else action.choices or ()
        if not action.option_strings:
            words += list(known)
        elif action.nargs != 0:
            values |= {option: list(known) for option in action.option_strings}
    yield Place(parser.prog, words, list(parser._option_string_actions), values)
    for command in below:
        yield from places(command)


def bash(known: list[Place]) -> str:
    """The words so far lead to a command; the word before says whether an option waits for its value."""
    return f"""\
# bash completion of federage
_federage() {{
    local word place=federage at=1 offered=""
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    while (( at < COMP_CWORD )); do
        word=${{COMP_WORDS[at]}}
        case "$place $word" in
            {_alternatives(known)}) place="$place $word" ;;
        esac
        (( at += 1 ))
    done
    case "$place:$before" in
{_cases(known, "            ")}
    esac
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
}}
complete -o default -F _federage federage
"""


def zsh(known: list[Place]) -> str:
    """As in bash, with zsh's own words."""
    return f"""\
#compdef federage
_federage() {{
    local word place=federage offered=""
    local before=${{words[CURRENT-1]}} current=${{words[CURRENT]}}
    for word in ${{words[2,CURRENT-1]}}; do
        case "$place $word" in
            {_alternatives(known)}) place="$place $word" ;;
        esac
    done
    case "$place:$before" in
{_cases(known, "            ")}
    esac
    compadd -- ${{=offered}}
    [[ -n $offered && $current == -* ]] || _files
}}
if [ "$funcstack[1]" = _federage ]; then
    _federage "$@"
else
    compdef _federage federage
fi
"""


def fish(known: list[Place]) -> str:
    """One line a word; where it may stand is asked of the words before it."""
    lines = ["# fish completion of federage"]
    for place in known:
        below = [other.path.split()[-1] for other in known if other.path.rpartition(" ")[0] == place.path]
        seen = [f"__fish_seen_subcommand_from {word}" for word in place.path.split()[1:]]
        seen += [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
        start = f"complete -c federage -n {shlex.quote('; and '.join(seen))}"
        if place.words:
            lines.append(f"{start} -a {shlex.quote(' '.join(place.words))}")
        for option in place.options:
            if option.startswith("--"):
                names = place.values.get(option)
                takes = "" if names is None else f" -x -a {shlex.quote(' '.join(names))}" if names else " -r"
                lines.append(f"{start} -l {option[2:]}{takes}")
    return "\n".join(lines) + "\n"


SHELLS: dict[str, Callable[[list[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _alternatives(known: list[Place]) -> str:
    return "|".join(shlex.quote(place.path) for place in known[1:])


def _cases(known: list[Place], indent: str) -> str:
    """What is offered: an option's values right after it (none: files), else the command's words and options."""
    lines: list[str] = []
    for place in known:
        for option, names in place.values.items():
            if names:
                lines.append(f"{shlex.quote(f'{place.path}:{option}')}) offered={shlex.quote(' '.join(names))} ;;")
        if unknown := [shlex.quote(f"{place.path}:{option}") for option, names in place.values.items() if not names]:
            lines.append(f"{'|'.join(unknown)}) ;;")
        both = " ".join([*place.words, *(option for option in place.options if option.startswith("--"))])
        lines.append(f"{shlex.quote(place.path)}:*) offered={shlex.quote(both)} ;;")
    return "\n".join(indent + line for line in lines)
