"""What people read before they install: comments in values.yaml, and what Artifact Hub shows.

Artifact Hub's annotations: https://artifacthub.io/docs/topics/annotations/helm/
"""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.helm import CHART, CRDS, Helm
from tests.unit.helm.test_schema import SCHEMA, VALUES

_CHARTS = (CHART, CRDS)


def paths(schema: dict[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each section and value that the schema describes."""
    for name, part in schema["properties"].items():
        if name != "global":
            yield (*prefix, name)
            if "properties" in part:
                yield from paths(part, (*prefix, name))


def described(path: tuple[str, ...]) -> str:
    """Return the schema's description of a value."""
    part = SCHEMA
    for name in path:
        part = part["properties"][name]
    if "$ref" in part:
        part = SCHEMA["definitions"][part["$ref"].rpartition("/")[2]]
    return str(part["description"])


def comments() -> dict[tuple[str, ...], str]:
    """Return the comment above each key of values.yaml, by the path that YAML's parser finds."""
    text = (CHART / "values.yaml").read_text()
    lines = text.splitlines()
    found: dict[tuple[str, ...], str] = {}

    def visit(node: yaml.Node | None, prefix: tuple[str, ...]) -> None:
        if not isinstance(node, yaml.MappingNode):
            return
        for key, value in node.value:
            path = (*prefix, key.value)
            above: list[str] = []
            for line in reversed(lines[: key.start_mark.line]):
                if not line.lstrip().startswith("#"):
                    break
                above.insert(0, line.strip().removeprefix("# "))
            found[path] = " ".join(above)
            visit(value, path)

    visit(yaml.compose(text), ())
    return found


def test_every_value_has_the_comment_of_the_schema() -> None:
    """They cannot differ: a value without one, or with another, fails here."""
    wanted = {path: described(path) for path in paths(SCHEMA)}
    assert len(wanted) > 250
    said = comments()
    differ = [path for path, words in wanted.items() if said[path].split(" One of: ")[0] != words]
    assert differ == []
    assert VALUES  # The file is what Helm reads, not only what people do.


@pytest.mark.parametrize("chart", _CHARTS, ids=lambda chart: chart.name)
def test_a_chart_says_what_catalogues_show(chart: Any) -> None:
    """Name, icon, home, sources, maintainers, keywords, category and licence."""
    page = yaml.safe_load((chart / "Chart.yaml").read_text())
    kind, _, icon = page["icon"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    picture = ROOT / "docs" / "pictures" / "favicon.svg"
    assert base64.b64decode(icon).decode() == picture.read_text().strip()
    assert page["home"].startswith("https://")
    assert all(url.startswith("https://") for url in page["sources"])
    assert [sorted(person) for person in page["maintainers"]] == [["email", "name"]]
    assert page["keywords"] == sorted(set(page["keywords"]))
    annotations = page["annotations"]
    assert annotations["artifacthub.io/category"] == "security"
    assert annotations["artifacthub.io/license"] == "Apache-2.0"
    for link in yaml.safe_load(annotations["artifacthub.io/links"]):
        assert sorted(link) == ["name", "url"]
        page_of = link["url"].removeprefix(f"{page['home']}/").removesuffix(".html")
        assert (ROOT / f"{page_of}.md").is_file()


def test_the_chart_of_kinds_lists_its_kinds(helm: Helm) -> None:
    """Each that people write, with the first sentence of its own description."""
    page = yaml.safe_load((CRDS / "Chart.yaml").read_text())
    listed = {
        entry["name"]: entry for entry in yaml.safe_load(page["annotations"]["artifacthub.io/crds"])
    }
    rendered = {
        item["metadata"]["name"]: item["spec"]
        for item in yaml.safe_load_all(helm.run("template", "crds", CRDS))
        if item and item["kind"] == "CustomResourceDefinition"
    }
    assert rendered.keys() == listed.keys()
    assert len(listed) > 9
    for name, entry in listed.items():
        (version,) = rendered[name]["versions"]
        assert entry["kind"] == rendered[name]["names"]["kind"]
        assert entry["version"] == version["name"]
        whole = " ".join(version["schema"]["openAPIV3Schema"]["description"].split())
        assert whole.startswith(entry["description"])
        assert entry["displayName"].replace(" ", "") == entry["kind"]
