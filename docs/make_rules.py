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
RULES = ROOT / "policies" / "rego" / "privileges"
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
    folders = sorted(path for path in RULES.glob("*/*") if path.is_dir())
    rules = {
        f"{folder.parent.name}/{folder.name}": _metadata(folder / f"{folder.name}.rego")
        for folder in folders
    }
    pages = {f"{rule}.md": _page(rule, metadata) for rule, metadata in rules.items()}
    pages["index.md"] = _index(rules)
    return pages


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
    examples = RULES / rule
    sources = "\n".join(
        f"- [{resource['description']}]({resource['ref']})"
        for resource in metadata["related_resources"]
    )
    return f"""{_HEAD}
# {metadata["title"]}

Rule `privileges/{rule}`, severity {custom["severity"]}, since version {custom["since"]} of the \
catalogue of privileges.

{metadata["description"].strip()}

## Privileges

{_privileges(custom)}

A profile that covers the privilege allows it: [how privileges are written](index.md).

## Message

> {custom["message"]}

## Remedy

{custom["remedy"].strip()}

## Sources

{sources}

## Needs the privilege

```yaml
{(examples / "refused.yaml").read_text()}```

## Needs nothing

```yaml
{(examples / "admitted.yaml").read_text()}```
"""


def _privileges(custom: dict[str, Any]) -> str:
    return "\n".join(f"- `{pattern}`" for pattern in custom["privileges"])


def _index(rules: dict[str, dict[str, Any]]) -> str:
    rows = "\n".join(
        f"| [{metadata['title']}]({rule}.md) | `privileges/{rule}` | "
        + ", ".join(f"`{pattern}`" for pattern in metadata["custom"]["privileges"])
        + f" | {metadata['custom']['severity']} |"
        for rule, metadata in rules.items()
    )
    return f"""{_HEAD}
# Rules

Each rule names the privileges that a Pod needs; none of them says yes or no. A Pod is admitted \
when one profile that its subject may use covers all of them. A Pod that asks for nothing beyond \
Pod Security *restricted* needs none, save for settings that `pss-restricted` lists: the \
capability NET_BIND_SERVICE, four SELinux types and the safe kernel parameters.

In the table `*` stands for one segment and a last `**` for one or more, as in a profile. In a \
privilege every character outside `A-Za-z0-9._:-` is percent-encoded: the host `[::1]` is \
`host/probe/%5B::1%5D`. The whole segments `.` and `..` become `%2E` and `%2E%2E`, and an empty \
value `%00`. In a message `{{value}}` is the privilege without its first segment, `{{rest}}` without its first two.

| Rule | Id | Privileges | Severity |
|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    sys.exit(main())
