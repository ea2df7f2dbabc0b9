"""Which files of a site's folder are taken: no Rego is left out without a word."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from tests.tools.provide import provide
from tests.unit.policies.builder.test_site_refusals import SILENT, refusal
from tests.unit.policies.bundles import make_site_bundle, signal, write_rego


def test_what_is_no_rule_stays_out(tmp_path: Path) -> None:
    """Data, manifests, tests: whatever they say, the bundle is the one without them."""
    plain = make_site_bundle(tmp_path / "plain", {"x.rego": signal()})
    more = {
        "x.rego": signal(),
        "data.json": '{"sallyport": {"site": {"signals": {}}}}',
        "data.yaml": "sallyport: {judge: {}}",
        ".manifest": '{"roots": ["sallyport"]}',
        "needs_test.rego": f"package sallyport.needs{SILENT}",
        "policy.wasm": "",
    }
    made = make_site_bundle(tmp_path / "more", more)
    assert made.read_bytes() == plain.read_bytes()


def test_folders_and_names_that_cannot_be_in_a_bundle_are_refused(tmp_path: Path) -> None:
    """Each says which it is."""
    long = f"{'x' * 99}.rego"
    assert "has at most 100 ASCII characters" in refusal(tmp_path, {long: signal()})
    (tmp_path / "acme" / long).unlink()
    assert "has at most 100 ASCII characters" in refusal(tmp_path, {"é.rego": signal()})
    (tmp_path / "acme" / "é.rego").unlink()
    assert refusal(tmp_path, {}).endswith("acme: no Rego in it")
    assert "no signal in it" in refusal(tmp_path, {"h.rego": "package site.h\n\ny if true\n"})


def _linked(path: Path) -> None:
    write_rego(path.parent.parent / "elsewhere", {"y.rego": signal()})
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("name", "make", "problem"),
    [
        ("pipe.rego", os.mkfifo, "is called as Rego is, and is no file that can be read"),
        ("folder.rego", Path.mkdir, "is called as Rego is, and is no file that can be read"),
        ("gone.rego", lambda p: p.symlink_to("x"), "is called as Rego is, and is no file that can"),
        ("more", _linked, "is a link to a folder, which is not followed"),
        ("y.REGO", lambda p: p.write_text(signal()), "would be left out: call it y.rego"),
    ],
)
def test_what_looks_like_rego_is_not_left_out_silently(
    tmp_path: Path, name: str, make: Callable[[Path], object], problem: str
) -> None:
    """The site would believe that its signals count."""
    path = tmp_path / "acme" / name
    path.parent.mkdir()
    make(path)
    said = refusal(tmp_path, {"x.rego": signal()})
    assert said.startswith(f"{path}: {problem}")


def test_two_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    """Their files would have the same places."""
    sites = [write_rego(tmp_path / each / "acme", {"x.rego": signal()}) for each in ("a", "b")]
    with pytest.raises(BundleRefusedError, match="is called 'acme' too: rename one of the folders"):
        build(provide("opa"), BUILT_IN_REGO, tmp_path / "out", sites)
    with pytest.raises(BundleRefusedError, match="no folder whose name is letters, digits"):
        build(provide("opa"), BUILT_IN_REGO, tmp_path / "out", [tmp_path / "nowhere"])
