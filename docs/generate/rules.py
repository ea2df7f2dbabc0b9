"""Makes docs/rules: a page for each built-in rule, from its METADATA and its two examples.

And docs/sandbox/signals.md, the table of what counts for the sandbox.

python -m docs.generate.rules [--check]

With `--check` nothing is written, and the exit code is 1 if a page is missing, stale or left over.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from docs.generate.signals import signals_page

ROOT = Path(__file__).resolve().parents[2]
REGO = ROOT / "policies" / "rego"
AREAS = ("privileges", "rules", "sandbox")
SIGNALS = "sandbox/"
PAGES = ROOT / "docs"
FOLDERS = ("rules", "sandbox")
"""Folders of PAGES in which every page is made here, but those of WRITTEN."""
WRITTEN = {"sandbox/compatibility.md", "sandbox/site-signals.md"}

_HEAD = (
    "<!-- Made by docs/generate/rules.py from the rule's METADATA and examples; edit those. -->\n"
)


def main() -> int:
    """Write the pages, or check them. Gives the exit code."""
    parser = argparse.ArgumentParser(description="Make the pages of docs/rules.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    check = parser.parse_args().check
    pages = _pages()
    present = {
        path.relative_to(PAGES).as_posix(): path.read_text()
        for folder in FOLDERS
        for path in (PAGES / folder).rglob("*.md")
        if path.relative_to(PAGES).as_posix() not in WRITTEN
    }
    changed = sorted(
        name for name in pages.keys() | present.keys() if pages.get(name) != present.get(name)
    )
    if check:
        for name in changed:
            print(f"docs/{name} is stale; run: python -m docs.generate.rules", file=sys.stderr)
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
    """Return the text of each page by its path below docs."""
    rules = {
        folder.relative_to(REGO).as_posix(): read_metadata(folder / f"{folder.name}.rego")
        for area in AREAS
        for folder in sorted((REGO / area).glob("*/*"))
        if folder.is_dir()
    }
    pages = {f"rules/{_place(rule)}": _page(rule, data) for rule, data in rules.items()}
    if len(pages) < len(rules):
        raise SystemExit("two areas have a rule of the same name: their pages would be one")
    signals = {rule: data for rule, data in rules.items() if rule.startswith(SIGNALS)}
    others = {rule: data for rule, data in rules.items() if rule not in signals}
    risky = {rule: data for rule, data in others.items() if "risk" in data["custom"]}
    made = {"rules/index.md": _index(others), "sandbox/signals.md": signals_page(signals, risky)}
    return pages | made


def _place(rule: str) -> str:
    """Return the page of a rule below docs/rules: its id without the area, save for signals."""
    return f"{rule if rule.startswith(SIGNALS) else rule.partition('/')[2]}.md"


def read_metadata(source: Path) -> dict[str, Any]:
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
    (refused, one), (admitted, other) = _examples(custom)
    return f"""{_HEAD}
# {metadata["title"]}

{_weight(rule, custom)}

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
{(REGO / rule / one).read_text()}```

## {admitted}

```yaml
{(REGO / rule / other).read_text()}```
"""


def _weight(rule: str, custom: dict[str, Any]) -> str:
    since = f"since version {custom['since']}"
    if "points" in custom:
        return f"Rule `{rule}`, {custom['points']} points, {since} of the signals."
    return f"Rule `{rule}`, severity {custom['severity']}, {since} of the catalogue of privileges."


def _examples(custom: dict[str, Any]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the heading and the file of each example."""
    if "points" in custom:
        return ("Counts", "riskier.yaml"), ("Does not count", "ordinary.yaml")
    if "privileges" in custom:
        return ("Needs the privilege", "refused.yaml"), ("Does not need it", "admitted.yaml")
    return ("Denied", "refused.yaml"), ("Not denied", "admitted.yaml")


def _verdict(custom: dict[str, Any]) -> str:
    if "points" in custom:
        return (
            "A signal refuses nothing: its points add to the score by which a sandbox is chosen, "
            "once for an object ([signals](../../../sandbox/signals.md))."
        )
    if "privileges" not in custom:
        return "No profile covers it: nobody may, whatever their rights."
    listed = "\n".join(f"- `{pattern}`" for pattern in custom["privileges"])
    return f"""## Privileges

{listed}

A profile that covers the privilege allows it: [how privileges are written](../index.md).\
{_risk(custom)}"""


def _risk(custom: dict[str, Any]) -> str:
    if "risk" not in custom:
        return ""
    others = custom.get("risks", {})
    listed = "".join(f"\n- `{pattern}`: {points} points" for pattern, points in others.items())
    return (
        "\n\nHad by an exception only, it adds "
        f"{custom['risk']} points to the [score of the sandbox](../../sandbox/signals.md)"
        + (f", save for these, of which the most counts:\n{listed}" if listed else ".")
    )


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
under `rules/` finds is denied to everyone. Signals of risk, by which a sandbox is chosen, have \
[a page of their own](../sandbox/signals.md).

Version 1 of the catalogue is what Pod Security restricts: a Pod that asks for nothing beyond its \
level *restricted* needs nothing of it, save for settings that `pss-restricted` lists: the \
capability NET_BIND_SERVICE, four SELinux types and the safe kernel parameters. Version 2 is what \
Pod Security leaves open, and objects that are no Pods. Version 3 is ways into what runs (exec, \
attach, port-forward, proxies, debug containers), tokens, certificates, bindings, and rights that \
somebody gives. Version 4 is who a Pod is on file systems that others mount too, rights over \
where traffic goes, and certificates of Pods that somebody asks for by hand. Every image needs its own `image/from/<registry>/<repository>`.

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
