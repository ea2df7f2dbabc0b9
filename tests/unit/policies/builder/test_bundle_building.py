"""Building a bundle: reproducible, complete, and refused with the place of what is wrong."""

import gzip
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import FORMAT, Rule, read_bundle
from tests.tools.provide import provide
from tests.unit.policies.bundles import make_bundle, rule, write_rego

ANNOTATED = """# METADATA
# scope: package
# title: Site
# description: Of the site.
# related_resources:
# - ref: https://site.example/
# custom:
#   severity: low
#   since: 1
#   message: does it ({value})
#   remedy: Leave it.
package sallyport.privileges.site.thing

needs contains {"privilege": "site/thing", "path": "spec"} if input.os == "site"
"""


def test_same_sources_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """Later, and from another folder: no time and no path of the machine gets in."""
    moved = shutil.copytree(BUILT_IN_REGO, tmp_path / "elsewhere" / "rego")
    time.sleep(1.1)  # Times in archives are whole seconds.
    assert make_bundle(tmp_path, base=moved).read_bytes() == built.read_bytes()


def test_no_path_or_test_of_this_machine_is_in_it(built: Path) -> None:
    """The archive holds the policies alone, by paths that mean the same everywhere."""
    unpacked = gzip.decompress(built.read_bytes())
    assert str(BUILT_IN_REGO).encode() not in unpacked
    sources = read_bundle(built).sources
    assert "rego/needs.rego" in sources
    assert not [name for name in sources if name.endswith("_test.rego") or ".." in name]


def test_sources_are_those_that_their_authors_wrote(built: Path) -> None:
    """Comments and lines are kept, so that a place named in a message is the file's."""
    for name, text in read_bundle(built).sources.items():
        assert text == (BUILT_IN_REGO.parent / name).read_text()


def test_manifest_holds_the_metadata_of_every_rule(built: Path) -> None:
    """One entry a rule folder, with all that is said to people."""
    rules = read_bundle(built).rules
    areas = [BUILT_IN_REGO / area for area in ("privileges", "rules", "sandbox")]
    folders = [path for area in areas for path in area.glob("*/*") if path.is_dir()]
    assert set(rules) == {str(path.relative_to(BUILT_IN_REGO)) for path in folders}
    for rule_id, found in rules.items():
        assert found.id == rule_id
        assert all((found.title, found.description, found.message, found.remedy))
        assert bool(found.points) is rule_id.startswith("sandbox/")
        assert bool(found.severity) is not bool(found.points)


def test_site_rules_are_built_beside_the_built_in_ones(built: Path, tmp_path: Path) -> None:
    """A site's rule gets its METADATA into the manifest; the revision is another."""
    bundle = read_bundle(make_bundle(tmp_path, {"thing.rego": ANNOTATED}))
    assert bundle.rules["privileges/site/thing"] == Rule(
        id="privileges/site/thing",
        title="Site",
        description="Of the site.",
        severity="low",
        message="does it ({value})",
        remedy="Leave it.",
        since=1,
        sources=["https://site.example/"],
    )
    assert set(bundle.rules) == {*read_bundle(built).rules, "privileges/site/thing"}
    assert bundle.revision != read_bundle(built).revision


def test_revision_covers_the_words_too(built: Path, tmp_path: Path) -> None:
    """A remedy that reads otherwise is another revision: decisions quote it."""
    changed = shutil.copytree(BUILT_IN_REGO, tmp_path / "rego")
    place = changed / "privileges/host/network/network.rego"
    place.write_text(place.read_text().replace("title: ", "title: Now ", 1))
    bundle = read_bundle(make_bundle(tmp_path, base=changed))
    assert re.fullmatch("[0-9a-f]{12}", bundle.revision)
    assert bundle.revision != read_bundle(built).revision


@pytest.mark.parametrize(
    "line", ["title", "description", "  severity", "  since", "  message", "  remedy"]
)
def test_rule_without_metadata_is_refused(tmp_path: Path, line: str) -> None:
    """Each part is demanded; the message names the rule and what it lacks."""
    text = re.sub(rf"^# {line}: .*\n", "", ANNOTATED, flags=re.MULTILINE)
    with pytest.raises(BundleRefusedError) as refused:
        make_bundle(tmp_path, {"thing.rego": text})
    assert str(refused.value) == f"privileges/site/thing: METADATA lacks {line.strip()!r}"
    assert not (tmp_path / "bundle.tar.gz").exists()


@pytest.mark.parametrize("files", [{}, {"notes.txt": "x"}, {"only_test.rego": rule("true")}])
def test_folder_without_rego_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    """Most likely the wrong folder was given."""
    folder = write_rego(tmp_path, files)
    with pytest.raises(BundleRefusedError) as refused:
        build(provide("opa"), folder, tmp_path / "out.tar.gz")
    assert str(refused.value) == f"{folder}: no Rego in it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("package sallyport.privileges.x.y\n\nneeds contains", "rego/bad.rego:3: rego_parse_error"),
        (rule("input.os == unheard_of"), "rego/bad.rego:5: rego_unsafe_var_error"),
        (rule("no.such_function(1)"), "rego/bad.rego:5: rego_type_error"),
        (
            "package sallyport.privileges.host.network\n\nf(x) := f(x)\n",
            "rego/bad.rego:3: rego_recursion_error",
        ),
    ],
)
def test_what_opa_refuses_is_refused_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    """OPA's message comes through: file, line and what is wrong."""
    with pytest.raises(BundleRefusedError) as refused:
        make_bundle(tmp_path, {"bad.rego": text})
    assert str(refused.value).startswith("opa build refused the policies:\n")
    assert message in str(refused.value)


def test_refused_build_leaves_the_old_bundle(tmp_path: Path) -> None:
    """The file is replaced in one step, by a bundle that was made whole, or not at all."""
    output = tmp_path / "bundle.tar.gz"
    output.write_bytes(b"old")
    with pytest.raises(BundleRefusedError):
        make_bundle(tmp_path, {"bad.rego": "package"})
    assert output.read_bytes() == b"old"
    make_bundle(tmp_path)
    assert read_bundle(output).rules
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle.tar.gz", "staged"]


def test_format_is_the_one_that_this_release_reads(built: Path) -> None:
    """What is built can be read by the same release."""
    text = gzip.decompress(built.read_bytes())
    assert f'"sallyport":{{"format":{FORMAT},'.encode() in text


def test_build_command_prints_the_revision(built: Path, tmp_path: Path) -> None:
    """`sallyport policy build` makes the same bundle and names its revision."""
    output = tmp_path / "out.tar.gz"
    sallyport = str(Path(sys.executable).parent / "sallyport")
    arguments = ["policy", "build", "--output", str(output), "--opa", str(provide("opa"))]
    done = subprocess.run([sallyport, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == f"{output}: revision {read_bundle(built).revision}\n"
    assert output.read_bytes() == built.read_bytes()
