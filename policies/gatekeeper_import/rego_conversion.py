"""Makes a template's Rego Rego that may stand in a site's folder.

It becomes Rego v1, its packages get names of their own, and what `opa check --strict` refuses
(variables that nobody reads, functions that are gone) is written otherwise, meaning the same.
"""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.gatekeeper_import.shared_rego import ROOT, SHARED, SHARED_REGO
from policies.gatekeeper_import.syntax import (
    Mistake,
    Tree,
    constant_path,
    package_of,
    parse_rego,
    read_mistakes,
    references,
    require_parsed,
)
from policies.gatekeeper_import.templates import Template, TemplateSource

_ROUNDS: Final = 40
_MOVED: Final = {"re_match": "regex.match", "net.cidr_overlap": "net.cidr_contains"}
"""Functions that go by another name now."""

_GONE: Final = frozenset(
    [
        "all",
        "any",
        "cast_array",
        "cast_boolean",
        "cast_null",
        "cast_object",
        "cast_set",
        "cast_string",
        "set_diff",
    ]
)
"""Functions that are gone, which SHARED has."""

_UNUSED: Final = re.compile(
    r"(?:assigned var|declared var|unused argument) (?P<name>\w+)\b|(?P<import>import .*) unused"
)


class ConvertedTemplate(msgspec.Struct, frozen=True):
    """A template's Rego, ready to be written."""

    package: str
    """Of its `violation`."""
    texts: Mapping[str, str]
    """By file name."""
    trees: tuple[Tree, ...]
    """The first is the policy's."""


def convert_template(opa: Path, template: Template, name: str) -> ConvertedTemplate:
    """Return a template's Rego in packages below ROOT and `name`.

    Raises:
        BundleRefusedError: it reads other objects or libraries that the template does not have, or
            OPA refuses it; has file and line.
    """
    package = f"{ROOT}.{name}.policy"
    sources = {"policy.rego": template.policy}
    sources |= {f"lib{number}.rego": lib for number, lib in enumerate(template.libs, 1)}
    trees = {
        file: require_parsed(parse_rego(opa, each.text, legacy=each.version == "v0"), each.at(1))
        for file, each in sources.items()
    }
    names = _packages(template, trees, name)
    texts = {
        file: _formatted(opa, source, _renamed(source, trees[file], names))
        for file, source in sources.items()
    }
    texts = _strict(opa, texts, template)
    after = [require_parsed(parse_rego(opa, text), template.place) for text in texts.values()]
    if not any(_gives_violations(rule) for rule in after[0].get("rules") or []):
        raise BundleRefusedError(f"{template.policy.at(1)}: has no rule violation")
    return ConvertedTemplate(package, texts, tuple(after))


def _gives_violations(rule: Tree) -> bool:
    return constant_path(rule["head"]["ref"]) == "violation" and "key" in rule["head"]


def _packages(template: Template, trees: Mapping[str, Tree], name: str) -> dict[str, str]:
    """Return for each package what it is called from now on."""
    first, *libs = trees.items()
    names = {".".join(package_of(first[1])): f"{ROOT}.{name}.policy"}
    for number, (_, tree) in enumerate(libs):
        parts = package_of(tree)
        if parts[0] != "lib":
            problem = f"package {'.'.join(parts)} of a library does not begin with lib"
            raise BundleRefusedError(f"{template.libs[number].at(1)}: {problem}")
        names[".".join(parts)] = f"{ROOT}.{name}.{'.'.join(parts)}"
    return names


def _renamed(source: TemplateSource, tree: Tree, names: Mapping[str, str]) -> str:
    """Return the text with the new names of packages and of functions that are gone."""
    lines = source.text.splitlines()
    edits: list[tuple[int, int, str, str]] = []
    old = ".".join(package_of(tree))
    row = tree["package"]["location"]["row"]
    edits.append(
        (row, lines[row - 1].index("package") + 1, f"package {old}", f"package {names[old]}")
    )
    own = {constant_path(rule["head"]["ref"]) for rule in tree.get("rules") or []}
    for parts in references([tree.get("imports"), tree.get("rules")]):
        place = parts[0].get("location", {})
        row, column, called = place.get("row", 1), place.get("col", 1), constant_path(parts)
        if parts[0]["value"] == "data" and parts[0]["type"] == "var":
            edits.append((row, column, *_moved(called, names, source.at(row))))
        elif called == "external_data":
            problem = "external_data: asks a provider outside, which no policy may"
            raise BundleRefusedError(f"{source.at(row)}: {problem}")
        elif called in _MOVED:
            edits.append((row, column, called, _MOVED[called]))
        elif called == "replace" and called not in own:
            edits.append((row, column, called, f"data.{SHARED}.replaced"))
        elif called in _GONE and called not in own:
            edits.append((row, column, called, f"data.{SHARED}.{called}"))
    for row, column, before, after in sorted(set(edits), reverse=True):
        line, at = lines[row - 1], column - 1
        if not line.startswith(before, at):
            problem = f"cannot rename {before} here: write it plainly, with dots"
            raise BundleRefusedError(f"{source.at(row)}: {problem}")
        lines[row - 1] = line[:at] + after + line[at + len(before) :]
    return "\n".join(lines).replace("# METADATA", "# Metadata") + "\n"


def _moved(called: str, names: Mapping[str, str], place: str) -> tuple[str, str]:
    for old in sorted(names, key=len, reverse=True):
        if f"{called}.".startswith(f"data.{old}."):
            return f"data.{old}", f"data.{names[old]}"
    if called.startswith("data.inventory"):
        problem = "data.inventory: reads other objects than the one that is judged"
    elif called.startswith("data.lib"):
        problem = f"{called}: the template's libs do not have it"
    else:
        problem = f"{called}: reads what no rule is shown"
    raise BundleRefusedError(f"{place}: {problem}")


def _formatted(opa: Path, source: TemplateSource, text: str) -> str:
    """Return the text as Rego v1."""
    flags = ["--v0-v1"] if source.version == "v0" else []
    done = subprocess.run(
        [opa, "fmt", *flags], input=text.encode(), capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("failed to format Rego ")
        found = re.search(r"stdin:(\d+)", said)
        place = source.at(int(found[1]) if found else 1)
        raise BundleRefusedError(f"{place}: cannot be made Rego v1: {' '.join(said.split())}")
    return done.stdout.decode()


def _strict(opa: Path, texts: Mapping[str, str], template: Template) -> dict[str, str]:
    """Take away what nobody reads, as long as OPA names any."""
    current = dict(texts)
    for _ in range(_ROUNDS):
        found = _against(opa, current)
        if not found:
            return current
        for file, text in list(current.items()):
            mine = [each for each in found if each.file == file]
            current[file] = _without(text, mine, template)
        if others := [each for each in found if each.file not in current]:
            raise _refused(template, "", others[0])
    raise BundleRefusedError(f"{template.place}: OPA finds ever more variables that nobody reads")


def _against(opa: Path, texts: Mapping[str, str]) -> list[Mistake]:
    with tempfile.TemporaryDirectory(prefix="sallyport-import-") as scratch:
        for file, text in {**texts, "shared.rego": SHARED_REGO}.items():
            (Path(scratch) / file).write_text(text)
        command: list[str | Path] = [
            opa,
            "check",
            "--strict",
            "--max-errors",
            "1000",
            "-f",
            "json",
            ".",
        ]
        done = subprocess.run(command, cwd=scratch, capture_output=True, check=False)
        return read_mistakes(done.stdout or done.stderr) if done.returncode else []


def _without(text: str, found: list[Mistake], template: Template) -> str:
    lines = text.splitlines()
    for each in sorted(found, key=lambda one: (one.row, one.column), reverse=True):
        unused = _UNUSED.search(each.message)
        if unused is None:
            raise _refused(template, lines[each.row - 1], each)
        if unused["import"]:
            lines[each.row - 1] = ""
        elif not _blank(lines, each.row - 1, each.column - 1, unused["name"]):
            raise _refused(template, lines[each.row - 1], each)
    return "\n".join(lines) + "\n"


def _blank(lines: list[str], row: int, column: int, name: str) -> bool:
    """Write `_` for the first mention of a variable from a place on."""
    if re.fullmatch(rf"\s*some {re.escape(name)}\s*", lines[row]):
        lines[row] = ""
        return True
    word = re.compile(rf'(?<![\w".]){re.escape(name)}(?![\w"(])')
    for number in range(row, len(lines)):
        head, tail = lines[number][:column], lines[number][column:]
        changed, count = word.subn("_", tail, count=1)
        if count:
            lines[number] = head + changed
            return True
        column = 0
    return False


def _refused(template: Template, line: str, mistake: Mistake) -> BundleRefusedError:
    where = f" (in `{line.strip()}`)" if line.strip() else ""
    return BundleRefusedError(f"{template.policy.at(1)}: OPA refuses it{where}: {mistake.message}")
