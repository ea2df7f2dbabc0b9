"""Makes docs/rules: a page for each built-in rule, from its METADATA and its two examples.

python docs/make_rules.py [--check]

With `--check` nothing is written, and the exit code is 1 if a page is missing, stale or left over.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
REGO = ROOT / "policies" / "rego"
AREAS = ("privileges", "rules")
PAGES = ROOT / "docs" / "rules"

_HEAD = "<!-- Made by docs/make_rules.py from the rule's METADATA and examples; edit those. -->\n"


def main() -> int:
    """Write the pages, or check them. Gives the exit code."""
    parser = argparse.ArgumentParser(description="Make the pages of docs/rules.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    check = parser.parse_args().check
    pages = _pages()
    present = {path.relative_to(PAGES).as_posix(): path.read_text() for path in PAGES.rglob("*.md")}
    changed = sorted(
        name for name in pages.keys() | present.keys() if pages.get(name) != present.get(name)
    )
    if check:
        for name in changed:
            print(f"docs/rules/{name} is stale; run: python docs/make_rules.py", file=sys.stderr)
        return 1 if changed else 0
    for name in changed:
        page = PAGES / name
        if name in pages:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(pages[name])
        else:
            page.unlink()
    return 0


def _pages() -> dict[str, str]:
    """Give the text of each page by its path below docs/rules."""
    rules = {
        folder.relative_to(REGO).as_posix(): _metadata(folder / f"{folder.name}.rego")
        for area in AREAS
        for folder in sorted((REGO / area).glob("*/*"))
        if folder.is_dir()
    }
    pages = {_place(rule): _page(rule, metadata) for rule, metadata in rules.items()}
    if len(pages) < len(rules):
        raise SystemExit("two areas have a rule of the same name: their pages would be one")
    pages["index.md"] = _index(rules)
    return pages


def _place(rule: str) -> str:
    """Give the page of a rule: its id without the area."""
    return f"{rule.partition('/')[2]}.md"


def _metadata(source: Path) -> dict[str, Any]:
    """Read the METADATA with which a rule's file begins: YAML in comments (OPA, Annotations)."""
    lines = source.read_text().splitlines()
    if lines[0] != "# METADATA":
        raise SystemExit(f"{source}: does not begin with # METADATA")
    end = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    metadata: dict[str, Any] = yaml.safe_load("\n".join(line[2:] for line in lines[1:end]))
    return metadata


def _page(rule: str, metadata: dict[str, Any]) -> str:
    custom = metadata["custom"]
    sources = "\n".join(
        f"- [{resource['description']}]({resource['ref']})"
        for resource in metadata["related_resources"]
    )
    refused, admitted = (
        ("Needs the privilege", "Does not need it")
        if "privileges" in custom
        else ("Denied", "Not denied")
    )
    return f"""{_HEAD}
# {metadata["title"]}

Rule `{rule}`, severity {custom["severity"]}, since version {custom["since"]} of the \
catalogue of privileges.

{metadata["description"].strip()}

{_verdict(custom)}

## Message

> {custom["message"]}

## Remedy

{custom["remedy"].strip()}

## Sources

{sources}

## {refused}

```yaml
{(REGO / rule / "refused.yaml").read_text()}```

## {admitted}

```yaml
{(REGO / rule / "admitted.yaml").read_text()}```
"""


def _verdict(custom: dict[str, Any]) -> str:
    if "privileges" not in custom:
        return "No profile covers it: nobody may, whatever their rights."
    listed = "\n".join(f"- `{pattern}`" for pattern in custom["privileges"])
    return f"""## Privileges

{listed}

A profile that covers the privilege allows it: [how privileges are written](index.md)."""


def _index(rules: dict[str, dict[str, Any]]) -> str:
    rows = "\n".join(
        f"| [{metadata['title']}]({_place(rule)}) | `{rule}` | "
        + (
            ", ".join(f"`{pattern}`" for pattern in metadata["custom"].get("privileges", ()))
            or "none"
        )
        + f" | {metadata['custom']['severity']} | {metadata['custom']['since']} |"
        for rule, metadata in rules.items()
    )
    return f"""{_HEAD}
# Rules

Each rule under `privileges/` names the privileges that an object needs; none of them says yes or \
no. A Pod is admitted when one profile that its subject may use covers all of them. What a rule \
under `rules/` finds is denied to everyone.

Version 1 of the catalogue is what Pod Security restricts: a Pod that asks for nothing beyond its \
level *restricted* needs nothing of it, save for settings that `pss-restricted` lists: the \
capability NET_BIND_SERVICE, four SELinux types and the safe kernel parameters. Version 2 is what \
Pod Security leaves open, and objects that are no Pods. Every image needs its own \
`image/from/<registry>/<repository>`.

In the table `*` stands for one segment and a last `**` for one or more, as in a profile. In a \
privilege every character outside `A-Za-z0-9._:-` is percent-encoded: the host `[::1]` is \
`host/probe/%5B::1%5D`. The whole segments `.` and `..` become `%2E` and `%2E%2E`, and an empty \
value `%00`. In a message `{{value}}` is the privilege without its first segment, `{{rest}}` without its first two, or the second of two; where nothing is needed but something denied, `{{value}}` is what it is about.

| Rule | Id | Privileges | Severity | Since |
|---|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    sys.exit(main())
