"""Makes what helm/sallyport has from elsewhere: the table and the comments of values, and files/.

python -m docs.generate.chart [--check]

The table is made from values.schema.json and values.yaml, the comments in values.yaml from the schema
alone. Helm reads nothing outside a chart, so
files/ holds copies of what is also shipped without it. With `--check` nothing is written, and the
exit code is 1 if something is missing, stale or left over.
"""

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "sallyport"

COPIES = {
    "files/backstop.yaml": ROOT / "deploy" / "backstop.yaml",
    "files/endpointslice-guard.yaml": ROOT / "deploy" / "endpointslice-guard.yaml",
    "files/kinds-guard.yaml": ROOT / "deploy" / "kinds-guard.yaml",
    "files/status-guard.yaml": ROOT / "deploy" / "status-guard.yaml",
    "files/namespace-guard.yaml": ROOT / "deploy" / "namespace-guard.yaml",
    "files/pod-address-guard.yaml": ROOT / "deploy" / "pod-address-guard.yaml",
    "files/pod-annotation-guard.yaml": ROOT / "deploy" / "pod-annotation-guard.yaml",
    "files/revision-guard.yaml": ROOT / "deploy" / "revision-guard.yaml",
    "files/revision-owner-guard.yaml": ROOT / "deploy" / "revision-owner-guard.yaml",
    **{
        f"files/profiles/{path.name}": path
        for path in sorted((ROOT / "policies" / "profiles").glob("*.yaml"))
    },
}

_BEGIN = (
    "<!-- Made by docs/generate/chart.py from values.schema.json and values.yaml; edit those. -->\n"
)
_END = "<!-- End of what is made. -->\n"

_COMMENTS_FROM = """\
# What the comments say is made by docs/generate/chart.py from values.schema.json; edit that. A value of values.yaml
# is edited here. README.md has the same as a table.
"""
_KEY = re.compile(r"( *)([A-Za-z][A-Za-z0-9]*):")
_WIDTH = 118


def main() -> int:
    """Write the files, or check them. Gives the exit code."""
    parser = argparse.ArgumentParser(description="Make parts of helm/sallyport.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    check = parser.parse_args().check
    wanted = {name: path.read_text() for name, path in COPIES.items()}
    wanted["files/kinds.yaml"] = _kinds()
    wanted["README.md"] = _readme((CHART / "README.md").read_text())
    wanted["values.yaml"] = _commented((CHART / "values.yaml").read_text())
    present = {
        path.relative_to(CHART).as_posix(): path.read_text()
        for path in (*(CHART / "files").rglob("*.yaml"), CHART / "README.md", CHART / "values.yaml")
    }
    changed = sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )
    for name in changed:
        if check:
            print(
                f"helm/sallyport/{name} is stale; run: python -m docs.generate.chart",
                file=sys.stderr,
            )
        elif name in wanted:
            (CHART / name).parent.mkdir(parents=True, exist_ok=True)
            (CHART / name).write_text(wanted[name])
        else:
            (CHART / name).unlink()
    return 1 if check and changed else 0


def _kinds() -> str:
    """Return the fields that this release reads of each kind's spec, as YAML."""
    fields = {}
    for path in sorted((ROOT / "helm" / "sallyport-crds" / "templates").glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        (version,) = definition["spec"]["versions"]
        parts = version["schema"]["openAPIV3Schema"]["properties"]
        fields[definition["metadata"]["name"]] = sorted(parts["spec"].get("properties", {}))
    return f"# Made by docs/generate/chart.py.\n{yaml.safe_dump(fields)}"


def _readme(text: str) -> str:
    """Put the table into the README, between its two marks."""
    before, _, rest = text.partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise SystemExit("helm/sallyport/README.md: the marks of the table of values are missing")
    return f"{before}{_BEGIN}{_table()}{_END}{after}"


def _commented(text: str) -> str:
    """Return values.yaml with the schema's words above each value, in the place of its comments."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    lines: list[str] = []
    path: list[str] = []
    for line in text.splitlines(keepends=True):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if key := _KEY.match(line):
            lines += [""] if not key[1] else []
            path[len(key[1]) // 2 :] = [key[2]]
            if words := _words(schema, path):
                begin = f"{key[1]}# "
                lines += textwrap.wrap(
                    words,
                    _WIDTH,
                    initial_indent=begin,
                    subsequent_indent=begin,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
        lines.append(line.rstrip("\n"))
    return _COMMENTS_FROM + "\n".join(lines) + "\n"


def _words(schema: dict[str, Any], path: list[str]) -> str:
    """Return what the schema says of a value, and the words that it takes; empty inside a value."""
    part = schema
    for name in path:
        part = part.get("properties", {}).get(name, {})
    if "$ref" in part:
        part = schema["definitions"][part["$ref"].rpartition("/")[2]]
    words = str(part.get("description", ""))
    if "enum" in part:
        words += f" One of: {', '.join(str(word) or 'empty' for word in part['enum'])}."
    return words


def _table() -> str:
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    rows = [
        f"| `{path}` | {_type(value)} | {_default(default)} | {value['description']} |\n"
        for path, value, default in _values(schema["properties"], defaults, schema["definitions"])
    ]
    return "".join(["| Value | Type | Default | What it is |\n| --- | --- | --- | --- |\n", *rows])


def _values(
    properties: dict[str, Any],
    defaults: dict[str, Any],
    definitions: dict[str, Any],
    prefix: str = "",
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield path, schema and default of each value that values.yaml has no section for."""
    for name, given in properties.items():
        if name == "global":
            continue
        value = definitions[given["$ref"].rpartition("/")[2]] if "$ref" in given else given
        inner = value.get("properties")
        if inner and "$ref" not in given:
            yield from _values(inner, defaults[name], definitions, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value, defaults[name]


def _type(value: dict[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{word}`" for word in value["enum"])
    kind = str(value["type"])
    if "minimum" in value:
        kind += f", {value['minimum']} to {value['maximum']}"
    return kind


def _default(value: Any) -> str:
    return f"`{json.dumps(value)}`" if value not in ("", [], {}) else ""


if __name__ == "__main__":
    sys.exit(main())
