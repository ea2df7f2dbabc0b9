"""What makes a container risky by itself: what its command gets and runs, what it asks for.

Only the names of the tools leave here: a command may hold secrets. It is read as far as a shell's
text can be read without running it; whoever wants to hide what they start can (in a variable, in a
script of a ConfigMap): what is found makes an object riskier, and nothing is safe because nothing
was found. It is read once for all Pods of a gang: all that it depends on is the key under which it
is remembered, as JSON.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from core.base.json_errors import decode_error
from core.kubernetes import pod as k8s
from core.kubernetes.pod import is_nothing
from policies.projection.model import MAX_NAME, bound, check_length

_LONGEST_READ: Final = 64 * 1024
"""Characters of a command that are read, and bytes of all commands of a Pod: Linux takes 128 KiB at
most in one argument."""

_MOST_PIPES: Final = 256
"""In a command that is read: each costs a look for a shell."""

_TOO_LONG: Final = "unread"
"""Found in a command that is longer, or comes after as much of others."""

_MOST_REMEMBERED: Final = 512

_LONGEST_REMEMBERED: Final = 16 * 1024
"""Bytes of all that is read of one Pod. Together at most 8 MiB."""

_ORDINARY: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that every node has: not looked at."""

_FLAGS: Final = r"\s+(?:-\S{1,64}\s+(?:[^-\s]\S{0,127}\s+)?){0,6}"
"""Options between a tool and what it is to do, few enough that hostile text costs no more."""

_INSTALLS: Final = re.compile(
    rf"""(?:(?<![\w.-])|(?<=\s-m))(?:
    (?P<pip>(?:pip[0-9.]{{0,4}}|pipx|uv|poetry|pipenv|pdm|pixi|rye){_FLAGS}
        (?:pip\s+|tool\s+)?(?:install|sync)\b
        |pipx{_FLAGS}run\b|uv{_FLAGS}(?:tool\s+run\b|run\s+--with\b)|uvx\s|pip-sync\b)
    |(?P<conda>(?:conda|mamba|micromamba){_FLAGS}(?:env\s+)?(?:install|create|update)\b)
    |(?P<apt>(?:apt|apt-get|aptitude){_FLAGS}install\b|dpkg{_FLAGS}-i\b)
    |(?P<apk>apk{_FLAGS}add\b)
    |(?P<dnf>(?:dnf|yum|tdnf|microdnf|zypper){_FLAGS}(?:install|in)\b|rpm\s+-[a-z]{{0,4}}[iU])
    |(?P<npm>(?:npm|pnpm|yarn|bun){_FLAGS}(?:install|add|ci|i|exec|dlx|x)\b|(?:npx|bunx)\s
        |yarn\s*(?:;|&|$))
    |(?P<go>go{_FLAGS}(?:install|run|get)\s+(?:-\S{{1,64}}\s+){{0,4}}\S{{1,128}}@)
    |(?P<cargo>cargo{_FLAGS}install\b)
    |(?P<gem>(?:gem|bundle){_FLAGS}install\b)
    |(?P<R>install\.packages\s*\(|install_github\s*\(|BiocManager::install\s*\()
    |(?P<julia>Pkg\.(?:add|instantiate)\s*\()
    |(?P<git>git{_FLAGS}(?:clone|submodule\s+update)\b)
    )""",
    re.VERBOSE,
)

_INSTALLING: Final = (
    "instal", "sync", "uvx", "uv ", "pipx", "add", "clone", "submodule", "npm", "bun", "npx",
    "yarn", "conda", "mamba", "dpkg", "rpm", "zypper", "go ", "Pkg.",
)  # fmt: skip
"""One of these is in every text in which the expression above finds something."""

_FETCHES: Final = re.compile(r"(?<![\w.-])(?:(curl|wget|aria2c)\b|base64\s+(?:-d|-D|--decode)\b)")
_LINES: Final = r"(?:ba|da|z|k|a)?sh"
_LANGUAGES: Final = r"python[0-9.]{0,4}|perl|ruby|node|php"
_NAME: Final = rf"(?:{_LINES}|{_LANGUAGES})\b"
"""Of a shell or an interpreter; a search finds it behind its path too."""
_SHELL: Final = rf"(?:\S{{0,64}}/)?{_NAME}"
_OPTIONS: Final = r"(?:\s+-\w{1,8}){0,3}\s+-\w{0,4}"
_IS_SHELL: Final = re.compile(
    r"\s*(?:(?:\S{0,64}/)?"
    r"(?:sudo|doas|env|exec|nohup|nice|timeout|stdbuf|setsid|time|command|gosu|su|xargs)\s+"
    r"(?:[^\s|]{1,64}\s+){0,4}){0,2}(?:\S{0,64}/)?"
    # With its program among its arguments, what it is given is data: `python -m json.tool`.
    rf"(?:(?:{_LINES})\b(?!{_OPTIONS}c\b)|(?:{_LANGUAGES})\b(?!{_OPTIONS}[cmenpr]\b)(?!\s+--eval))"
)
_FED_BY_XARGS: Final = re.compile(rf"\s*(?:\S{{0,64}}/)?xargs\s+(?:\S{{1,64}}\s+){{0,4}}{_SHELL}")
_SUBSTITUTED: Final = re.compile(
    rf"(?<![\w.-])(?:{_NAME}\s+(?:-\w{{1,8}}\s+){{0,3}}|eval\s+|source\s+|\.\s+)"
    r"(?:/dev/stdin\s+)?(?:<{1,3}\s+)?(?:<\(|\$\(|`)\s*(curl|wget|aria2c)\b"
)
_EXECUTED: Final = re.compile(
    r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?(?:\w{1,20}\.){0,3}(?:urlopen|get)\s*\("
)
"""A program in Python that runs what it gets."""

_RUN: Final = re.compile(
    rf"(?<![\w.-])(?:{_NAME}|source|\.)\s+(?:-(?![cm]\b)\w{{1,8}}\s+){{0,3}}"
    r"(?:\S{0,128}/)?(\w[\w.+-]{0,127})"
)
"""A shell, or an interpreter, and the file that it runs."""

_FILE: Final = re.compile(r"(?<=[\s/=>])\w[\w.+-]{0,127}(?![^\s;&|)?])")

_MADE_A_PROGRAM: Final = re.compile(r"\bchmod\s+(?:[ugoa]{0,3}\+[rw]{0,2}x|0?7[0-7]{2}\b)")

_SPACES: Final = str.maketrans("\"',\\", "    ")
"""Quotes, so that a list in a program's text reads like a command, and what continues lines."""

_WORDS: Final = msgspec.json.Decoder(list[str] | None)

_NULL: Final = msgspec.Raw(b"null")


class ContainerStart(NamedTuple):
    """What a container gets from the network when it starts."""

    installs: tuple[str, ...]
    """Tools with which it installs packages or gets source code."""
    scripts: tuple[str, ...]
    """Tools that give a shell, or make a program, what no field of the object shows."""


NOTHING: Final = ContainerStart((), ())


class ContainerRisk(NamedTuple):
    """Of one container."""

    start: ContainerStart = NOTHING
    interactive: bool = False
    """Whether it has a terminal and waits for what is typed into it."""
    resources: tuple[str, ...] = ()
    """Those that not every node has."""


NONE: Final = ContainerRisk()

_UNREAD: Final = ContainerStart((_TOO_LONG,), ())

_ENCODER: Final = msgspec.json.Encoder()

_remembered: Final[dict[bytes, tuple[ContainerRisk, ...]]] = {}


def risks_of(containers: Sequence[tuple[str, k8s.Container]]) -> Sequence[ContainerRisk]:
    """Return what makes each of a Pod's containers risky; each comes with its path.

    Raises:
        InvalidObjectError: a command is no list of texts, or it wants more resources than any real
            container does.
    """
    read: list[object] = []
    for _, each in containers:
        limits = each.resources and each.resources.limits
        read += (each.command, each.args, each.lifecycle, limits, each.stdin, each.tty)
    key = _ENCODER.encode(read)
    if len(key) > _LONGEST_REMEMBERED:
        return _all(containers)
    risks = _remembered.get(key)
    if risks is None:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        risks = _remembered[key] = _all(containers)
    return risks


def _all(containers: Sequence[tuple[str, k8s.Container]]) -> tuple[ContainerRisk, ...]:
    found, size = [], 0
    for path, each in containers:
        size += _size(each)
        start = read_start(each, path) if size <= _LONGEST_READ else _UNREAD
        found.append(_of(path, each, start))
    return tuple(found)


def _size(container: k8s.Container) -> int:
    """Return the bytes of a container's commands."""
    size = len(memoryview(container.command)) + len(memoryview(container.args))
    after = container.lifecycle and container.lifecycle.post_start
    return size + (len(memoryview(after.exec.command)) if after and after.exec else 0)


def _of(path: str, container: k8s.Container, start: ContainerStart) -> ContainerRisk:
    limits = container.resources and container.resources.limits
    return ContainerRisk(
        start,
        bool(container.stdin and container.tty),
        special_resources(limits, path) if limits else (),
    )


def special_resources(limits: Mapping[str, str | int | float | None], path: str) -> tuple[str, ...]:
    """Return the resources that are wanted and that not every node has: hugepages, devices.

    Of these the API demands limits (ValidateContainerResourceRequirements in
    kubernetes/pkg/apis/core/validation): what is requested stands there too.

    Raises:
        InvalidObjectError: there are more than any real container wants, or one has a longer name.
    """
    if _ORDINARY.issuperset(limits):
        return ()
    bound(len(limits), f"{path}.resources.limits")
    found = [n for n in limits if n not in _ORDINARY and not is_nothing(limits[n])]
    if len(found) == 1 and len(found[0]) <= MAX_NAME:
        return tuple(found)
    field = f"{path}.resources.limits"
    bound(len(found), field)
    for name in found:
        check_length(name, field)
    return tuple(sorted(found))


def read_start(container: k8s.Container, path: str) -> ContainerStart:
    """Read the command of a container and what runs after its start (`lifecycle.postStart`).

    Raises:
        InvalidObjectError: one is no list of texts.
    """
    first = _read(container.command, container.args, path)
    lifecycle = container.lifecycle
    if lifecycle and lifecycle.post_start and lifecycle.post_start.exec:
        command = lifecycle.post_start.exec.command
        then = _read(command, _NULL, f"{path}.lifecycle.postStart.exec")
        return ContainerStart(*(tuple(sorted({*a, *b})) for a, b in zip(first, then, strict=True)))
    return first


def _read(command: msgspec.Raw, arguments: msgspec.Raw, path: str) -> ContainerStart:
    try:
        words = [_WORDS.decode(each or _NULL) or [] for each in (command, arguments)]
    except msgspec.ValidationError as error:
        raise decode_error("Pod", error, under=f"{path}.command") from error
    return read_command(" ".join(words[0] + words[1]))


def read_command(text: str) -> ContainerStart:
    """Return what a command's text gets from the network.

    >>> read_command("sh -c 'pip install -q numpy && curl -s https://x.example/a | bash -s'")
    ContainerStart(installs=('pip',), scripts=('curl',))
    """
    if len(text) > _LONGEST_READ or text.count("|") > _MOST_PIPES:
        return _UNREAD
    text = text.translate(_SPACES)
    installs: set[str] = set()
    if any(word in text for word in _INSTALLING):
        installs = {found.lastgroup or "" for found in _INSTALLS.finditer(text)}
    scripts: set[str] = set()
    if (first := _FETCHES.search(text)) is not None:
        scripts |= _piped(text) | {found[1] for found in _SUBSTITUTED.finditer(text)}
        if _MADE_A_PROGRAM.search(text, first.end()) or _runs_a_file(text, first.end()):
            scripts.add(_tool(first))
    if _EXECUTED.search(text):
        scripts.add("python")
    if not (installs or scripts):
        return NOTHING
    return ContainerStart(tuple(sorted(installs)), tuple(sorted(scripts)))


def _piped(text: str) -> set[str]:
    """Return the tools whose output a pipe leads to a shell, over whatever lies between."""
    found, fetched = set(), ""
    for stage in text.split("|"):
        if fetched and (_IS_SHELL.match(stage) or _FED_BY_XARGS.match(stage)):
            found.add(fetched)
        last = max(stage.rfind(";"), stage.rfind("\n"), stage.rfind("&&")) + 1
        if last:
            fetched = ""
        for each in _FETCHES.finditer(stage, last):
            fetched = _tool(each)
    return found


def _runs_a_file(text: str, start: int) -> bool:
    """Return whether a shell runs a file that is named between `start`, the download, and it."""
    named: dict[str, int] = {}
    for each in _FILE.finditer(text, start):
        named.setdefault(each[0], each.start())
    return any(named.get(each[1], len(text)) < each.start() for each in _RUN.finditer(text, start))


def _tool(found: re.Match[str]) -> str:
    return found[1] or "base64"
