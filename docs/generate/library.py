"""Makes docs/policies/library: a page for each rule of the library, and a table of all.

python -m docs.generate.library [--check]

From METADATA, the two examples, and the message that the failing one gets, which a test compares
with what is really said. With `--check` nothing is written, and the exit code is 1 if a page is
missing, stale or left over.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.generate.rules import read_metadata

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "policies" / "library"
PAGES = ROOT / "docs" / "policies"
FOLDER = "library"

_HEAD = (
    "<!-- Made by docs/generate/library.py from the rule's METADATA and examples; edit those. -->\n"
)


def main() -> int:
    """Write the pages, or check them. Gives the exit code."""
    parser = argparse.ArgumentParser(description="Make the pages of docs/policies/library.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    check = parser.parse_args().check
    pages = _pages()
    present = {
        path.relative_to(PAGES).as_posix(): path.read_text()
        for path in [PAGES / f"{FOLDER}.md", *(PAGES / FOLDER).rglob("*.md")]
        if path.exists()
    }
    changed = sorted(
        name for name in pages.keys() | present.keys() if pages.get(name) != present.get(name)
    )
    for name in changed:
        page = PAGES / name
        if check:
            print(
                f"docs/policies/{name} is stale; run: python -m docs.generate.library",
                file=sys.stderr,
            )
        elif name in pages:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(pages[name])
        else:
            page.unlink()
    return 1 if check and changed else 0


def _pages() -> dict[str, str]:
    """Return the text of each page by its path below docs/policies."""
    rules = {
        path.relative_to(LIBRARY).as_posix(): read_metadata(path / f"{path.name}.rego")
        for path in sorted(LIBRARY.glob("*/*"))
        if path.is_dir()
    }
    pages = {f"{FOLDER}/{_name(rule)}": _page(rule, data) for rule, data in rules.items()}
    return pages | {f"{FOLDER}.md": _index(rules)}


def _name(rule: str) -> str:
    return f"{rule.replace('/', '-')}.md"


def _page(rule: str, metadata: Mapping[str, Any]) -> str:
    custom = metadata["custom"]
    sources = "\n".join(
        f"- [{resource['description']}]({resource['ref']})"
        for resource in metadata["related_resources"]
    )
    kinds = ", ".join(f"`{kind}`" for kind in custom.get("kinds", ["Pod"]))
    return f"""{_HEAD}
# {metadata["title"]}

Rule `{rule}` of [the library](../library.md), severity {custom["severity"]}. Asked about: {kinds}.

{metadata["description"].strip()}

## Parameters

{_parameters(custom.get("parameters", {}))}

Put it in force in the file of choices ([what a site chooses](../rules.md#what-a-site-chooses)):

```yaml
{_choice(rule)}```

## Message

> {custom["message"]}

{custom["remedy"].strip()}

A [PolicyException](../../operate/exceptions.md) excuses one value for one workload, that which the
message has at `{{value}}`: `{{rule: rules/{rule}, value: …}}`.

## Denied

```yaml
{(LIBRARY / rule / "fail.yaml").read_text()}```

It is told:

```text
{(LIBRARY / rule / "message.txt").read_text()}```

## Not denied

```yaml
{(LIBRARY / rule / "pass.yaml").read_text()}```

## Sources

{sources}
"""


def _choice(rule: str) -> str:
    file = LIBRARY / rule / "rules.yaml"
    return file.read_text() if file.exists() else f"rules:\n  {rule}: {{}}\n"


def _parameters(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    if not parameters:
        return "None."
    rows = "\n".join(
        f"| `{name}` | {_type(schema)} | {_default(schema)} | {schema['description'].strip()} |"
        for name, schema in parameters.items()
    )
    return f"| Parameter | Type | Default | What it is |\n|---|---|---|---|\n{rows}"


def _default(schema: Mapping[str, Any]) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else "must be given"


def _type(schema: Mapping[str, Any]) -> str:
    """Say a JSON Schema in a few words."""
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema["type"] == "array":
        return f"list of: {_type(schema['items'])}"
    if schema["type"] == "object" and "properties" in schema:
        required = schema.get("required", ())
        return "; ".join(
            f"`{name}`{'' if name in required else ' (optional)'}: {_type(each)}"
            for name, each in schema["properties"].items()
        )
    if schema["type"] == "object":
        return f"object of: {_type(schema['additionalProperties'])}"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(kinds)


def _index(rules: Mapping[str, Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f"| [{metadata['title']}]({FOLDER}/{_name(rule)}) | `{rule}` | "
        + ", ".join(f"`{kind}`" for kind in _few(metadata["custom"].get("kinds", ["Pod"])))
        + f" | {metadata['custom']['severity']} | {_given(metadata['custom'])} |"
        for rule, metadata in rules.items()
    )
    return f"""{_HEAD}
# The library

Rules that many sites want, each off until a site's file of choices names it \
([what a site chooses](rules.md#what-a-site-chooses)):

```yaml
rules:
  services/types: {{}}
  jobs/ttl:
    action: warn
    namespaces: [research, team-*]
    parameters:
      maxSeconds: 86400
```

    sallyport policy build --rules rules.yaml --output bundle.tar.gz
    sallyport review --bundle bundle.tar.gz --profile pss-privileged manifest.yaml

Begin with `action: warn` where much runs already. What privileges say is not said again here: host \
namespaces, capabilities, host ports, volumes, tokens, images by digest, a read-only root, that CPU \
and memory have limits, who may bind which rights ([the built-in rules](../rules/index.md)) are for \
profiles. What needs other objects (a host that another Ingress serves, a Service's selector that \
another has) or an object's former state no rule can say, since a rule sees one object.

Where a parameter is a regular expression, one that is none is refused when the bundle is made.

A rule about a kind that carries no privileges (Service, Ingress, PersistentVolumeClaim …) is asked \
in a cluster where the chart's `webhooks.kinds` has the kind; `sallyport review` always asks it.

| Rule | Id | Asked about | Severity | Must be given |
|---|---|---|---|---|
{rows}
"""


def _few(kinds: list[str]) -> list[str]:
    most = 3
    return kinds if len(kinds) <= most else [*kinds[:most], "…"]


def _given(custom: Mapping[str, Any]) -> str:
    parameters = custom.get("parameters", {})
    needed = [f"`{name}`" for name, schema in parameters.items() if "default" not in schema]
    return ", ".join(needed) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
