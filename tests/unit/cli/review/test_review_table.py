"""What `sallyport review` prints for people."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, GOOD, cluster, pod, write
from tests.unit.cli.profile.workload_files import profile

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}


def test_table_then_what_the_gate_says(run: Run, tmp_path: Path) -> None:
    """A line for each object, then the gate's own message of each refusal; words, not codes."""
    file = write(tmp_path / "a.yaml", GOOD, BAD, CONFIG_MAP)
    done = run("review", file)
    table, skipped, head, finding, advice = done.out.split("\n\n")
    rows = [line.split() for line in table.splitlines()]
    assert rows == [
        ["VERDICT", "OBJECT", "PROFILE", "FINDINGS", "FILE"],
        ["allowed", "Pod", "default/good", "pss-restricted", "0", str(file)],
        ["refused", "Pod", "default/bad", "–", "1", str(file)],
        ["skipped", "ConfigMap", "c", "–", "0", str(file)],
    ]
    assert skipped == (
        "1 object of a kind that is not judged in this release (ConfigMap); "
        "their Pods are judged when they are created."
    )
    name, what = head.splitlines()
    assert name == f"{file}:"
    assert what.startswith("Pod default/bad: It needs 1 privilege that service account ")
    assert finding.startswith("1. spec.hostNetwork: ")
    assert "   Fix: " in finding
    assert "Or ask for the right to use node-agent or pss-privileged.\nA dry run: " in advice
    assert done.code == 1


def test_kinds_that_are_not_judged_are_named_once(run: Run, tmp_path: Path) -> None:
    """So that nobody takes silence for consent."""
    file = write(tmp_path / "a.yaml", CONFIG_MAP, SERVICE, CONFIG_MAP, NAMESPACE)
    done = run("review", file)
    assert done.code == 0
    assert done.out.split("\n\n")[1].splitlines() == [
        "3 objects of kinds that are not judged in this release (ConfigMap, Service); "
        "their Pods are judged when they are created.",
        "1 Namespace not judged: --as USER, without --profile, says who would change their marks.",
    ]


def test_warned_says_what_enforcing_would(run: Run, tmp_path: Path) -> None:
    """The whole message, though the Pod is admitted."""
    file = write(tmp_path / "a.yaml", pod("bad", namespace="train", hostPID=True))
    done = run("review", "--cluster", cluster(tmp_path / "cluster", mode="warn"), file)
    assert done.code == 0
    assert "\nwarned " in done.out
    assert "\n1. spec.hostPID: " in done.out


@pytest.mark.parametrize(
    ("documents", "place"),
    [([BROKEN], "line 3"), ([GOOD, {"kind": "Pod"}], "document 2"), ([["x"]], "document 1")],
)
def test_errors_are_told_apart_from_refusals(
    run: Run, tmp_path: Path, documents: list[object], place: str
) -> None:
    """`not judged`, which part of the file, and why."""
    file = write(tmp_path / "a.yaml", *documents)
    done = run("review", file)
    row = next(line for line in done.out.splitlines() if line.startswith("not judged"))
    assert row.split(maxsplit=2)[2].startswith(f"({place})")
    assert f"{place.capitalize()} could not be judged. This is an error" in done.out
    assert "Mend the file" in done.out
    assert "refused" not in done.out
    assert done.code == 2


def test_unreadable_file_is_whole(run: Run, tmp_path: Path) -> None:
    """What is not text has neither lines nor documents."""
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xff\xfe")
    done = run("review", file)
    assert "(whole file)" in done.out
    assert done.code == 2


def test_standard_input_has_its_name(run: Run) -> None:
    """A dash is for programs."""
    done = run("review", "-", stdin=BROKEN.encode())
    assert "\nstandard input:\n" in done.out
    assert " -\n" not in done.out


def test_markup_in_names_is_printed_as_it_is(run: Run, tmp_path: Path) -> None:
    """A manifest cannot colour what is printed of it."""
    odd = {**CONFIG_MAP, "metadata": {"name": "[red]x[/red]"}}
    refused = pod("[red]y[/red] :smile:", hostNetwork=True)
    done = run("review", write(tmp_path / "[red]a[/red].yaml", odd, refused))
    for text in ("[red]x[/red]", "[red]y[/red] :smile:", "[red]a[/red].yaml:"):
        assert text in done.out
    assert "\x1b" not in done.out


def test_control_characters_are_spelt_out(run: Run, tmp_path: Path) -> None:
    """A manifest cannot move the cursor, retitle the terminal or turn text around."""
    evil = "e\x1b[2Jv\x07i\u202el\r\x9b"
    objects = [
        pod(evil, namespace=evil, hostNetwork=True),
        {**CONFIG_MAP, "kind": f"K{evil}"},
        pod("odd", hostNetwork=evil),
        {"apiVersion": evil, "kind": 5},
    ]
    done = run("review", write(tmp_path / f"{evil}.yaml", *objects))
    assert done.code == 2
    for text in (done.out, done.err):
        assert all(char.isprintable() or char == "\n" for char in text)
    assert "e\\x1b[2Jv\\x07i\\u202el\\r\\x9b" in done.out
    missing = run("review", f"nowhere{evil}.yaml")
    assert all(char.isprintable() or char == "\n" for char in missing.err)


def test_what_came_after_the_profile_is_said(run: Run, tmp_path: Path) -> None:
    """Not a count alone: each field, and which profile is written for which catalogue."""
    folder = cluster(tmp_path / "cluster")
    old = profile("old", "image/from/**", "host/network", rank=1, catalogue=1)
    write(folder / "old.yaml", old)
    file = write(tmp_path / "a.yaml", pod("x", hostNetwork=True, shareProcessNamespace=True))
    done = run("review", "--cluster", folder, "--profile", "old", file)
    assert done.code == 0
    assert "\nwarned " in done.out
    assert "\nspec.shareProcessNamespace: " in done.out
    assert "\nThe profile old is written for catalogue 1, these privileges are of 2\n" in done.out
