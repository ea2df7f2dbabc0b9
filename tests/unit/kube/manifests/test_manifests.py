"""Manifests come one by one, each with the place where it stands."""

import io
import os
import time
from pathlib import Path

import pytest

from core.base.errors import InvalidObjectError, SettingsError
from kube.manifests import reader
from kube.manifests.reader import Manifest, read_each, read_paths, read_stream

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"


def read(text: str | bytes, name: str = "in.yaml") -> list[Manifest]:
    """Read a stream."""
    content = text if isinstance(text, bytes) else text.encode()
    return list(read_stream(io.BytesIO(content), name))


def test_documents_are_numbered() -> None:
    """Empty documents keep their number and give nothing."""
    found = read(f"{POD}---\n---\n{POD}")
    assert [one.source for one in found] == ["in.yaml#1", "in.yaml#3"]
    assert [(one.file, one.kind, one.group) for one in found] == [("in.yaml", "Pod", "")] * 2


def test_what_is_broken_comes_as_an_error_and_ends_nothing(tmp_path: Path) -> None:
    """Documents, items and files beside it are read; of a file that is no YAML nothing more is."""
    items = (
        '{"apiVersion": "v1", "kind": "List", "items": [7, {"apiVersion": "v1", "kind": "Pod"}]}'
    )
    (tmp_path / "a.yaml").write_text(f"kind: Pod\n---\n{POD}---\n{items}\n---\n- 1\n")
    (tmp_path / "b.yaml").write_text(f"{POD}---\nkind: [\n---\n{POD}")
    (tmp_path / "c.yaml").write_bytes(b"\xff")
    (tmp_path / "d.yaml").write_text(POD)
    found = [
        str(each) if isinstance(each, InvalidObjectError) else each.source
        for each in read_each([tmp_path])
    ]
    assert [each.removeprefix(f"{tmp_path}/").partition(": ")[0] for each in found] == [
        "a.yaml#1",
        "a.yaml#2",
        "a.yaml#3:items[0]",
        "a.yaml#3:items[1]",
        "a.yaml#4",
        "b.yaml#1",
        "b.yaml, line 6",
        "c.yaml",
        "d.yaml#1",
    ]


def test_lists_give_their_items() -> None:
    """`List` by its items' own kinds; `PodList` lends its kind; lists in lists too."""
    text = (
        '{"apiVersion": "v1", "kind": "List", "items": ['
        '{"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"spec": 1}]},'
        '{"apiVersion": "v1", "kind": "PodList", "items": null},'
        '{"apiVersion": "v1", "kind": "Pod"}]}'
    )
    found = read(text)
    assert [(one.source, one.api_version, one.kind) for one in found] == [
        ("in.yaml#1:items[0]:items[0]", "apps/v1", "Deployment"),
        ("in.yaml#1:items[2]", "v1", "Pod"),
    ]
    assert found[0].raw == b'{"apiVersion":"apps/v1","kind":"Deployment","spec":1}'


def test_a_kind_that_only_sounds_like_a_list_is_an_object() -> None:
    """Without `items` it stays whole, so that nothing hides behind a name."""
    found = read("apiVersion: example.org/v1\nkind: AllowList\nspec: {items: []}\n")
    assert [one.kind for one in found] == ["AllowList"]


def test_json_of_all_kinds_is_read() -> None:
    """Tabs and surrogate pairs, which YAML 1.1 has not, and flow YAML, which JSON has not."""
    text = '{\n\t"apiVersion": "v1",\n\t"kind": "Pod", "x": "\\ud83d\\ude00"\n}'
    assert read(text)[0].value["x"] == "😀"
    assert read("{apiVersion: v1, kind: Pod}")[0].kind == "Pod"
    assert read(b'\xef\xbb\xbf{"apiVersion": "v1", "kind": "Pod"}')[0].kind == "Pod"


def test_folders_are_read_in_order(tmp_path: Path) -> None:
    """Sorted, with what lies deeper; no other files, nothing hidden, links to files followed."""
    for name in ("b.yaml", "a/z.yml", "a/c.json", ".git/x.yaml", "a/.h.yaml", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{apiVersion: v1, kind: Pod}" if path.suffix != ".json" else "")
    (tmp_path / "a" / "c.json").write_text('{"apiVersion": "v1", "kind": "Pod"}')
    (tmp_path / "link.yaml").symlink_to(tmp_path / "b.yaml")
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [Path(one.file).relative_to(tmp_path).as_posix() for one in read_paths([tmp_path])]
    assert found == ["b.yaml", "link.yaml", "a/c.json", "a/z.yml"]


def test_a_single_file_may_have_any_name(tmp_path: Path) -> None:
    """Named outright, it is read."""
    path = tmp_path / "pod"
    path.write_text(POD)
    assert len(list(read_paths([path]))) == 1


def test_a_missing_path_is_a_wrong_setting(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(SettingsError, match="nowhere does not exist"):
        list(read_paths([tmp_path / "nowhere"]))


def test_a_file_that_cannot_be_read_is_a_wrong_setting(tmp_path: Path) -> None:
    """A link that leads nowhere, found in a folder, is not passed over."""
    (tmp_path / "dangling.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match=r"dangling\.yaml cannot be read"):
        list(read_paths([tmp_path]))


@pytest.mark.parametrize("in_folder", [False, True])
def test_what_is_no_regular_file_is_a_wrong_setting(tmp_path: Path, *, in_folder: bool) -> None:
    """A pipe that nobody writes to, and a device, named outright or found, stop nothing."""
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        path = tmp_path / "in.yaml"
        make(path)
        with pytest.raises(SettingsError, match=r"in\.yaml is not a regular file"):
            list(read_paths([tmp_path if in_folder else path]))
        path.unlink()


def test_many_keys_are_checked_in_time() -> None:
    """50 000 keys of which the last repeats: a comparison of each with each took 14 s."""
    keys = ", ".join(f'"key{number}": 1' for number in range(50_000))
    began = time.process_time()
    with pytest.raises(InvalidObjectError, match="duplicate key 'key49999'"):
        read(f'{{{keys}, "key49999": 2}}', "in.json")
    assert time.process_time() - began < 4


REFUSED: dict[str, tuple[str | bytes, str, str]] = {
    "no kind": ("apiVersion: v1", "in.yaml", "in.yaml#1: kind: is missing"),
    "null kind": ("apiVersion: v1\nkind: ", "in.yaml", "kind: is missing"),
    "kind is a number": ("apiVersion: v1\nkind: 5", "in.yaml", "kind: is missing, or is not"),
    "null kind in a list": (
        "{apiVersion: v1, kind: PodList, items: [{kind: null}]}",
        "in.yaml",
        r"in.yaml#1:items\[0\]: kind",
    ),
    "item is text": (
        "{apiVersion: v1, kind: List, items: [x]}",
        "in.yaml",
        r"items\[0\]: must be an object, is text",
    ),
    "document is a list": ("- a", "in.yaml", "in.yaml#1: must be an object, is a list"),
    "broken yaml": (f"{POD}---\na: [", "in.yaml", "in.yaml, line 6: did not find"),
    "broken json": ('{"a": }', "in.json", "in.json, line 1"),
    "json twice": ('{"a": 1, "a": 2}', "in.json", "duplicate key 'a'"),
    "json nan": ('{"a": NaN}', "in.json", "NaN is not JSON"),
    "json huge": ('{"a": 1e999}', "in.json", "too large"),
    "json long": ('{"a": 99999999999999999999}', "in.json", "64 bits"),
    "json digits": ('{"a": ' + "9" * 5000 + "}", "in.json", "integer string conversion"),
    "json half a pair": ('{"a": "\\ud800"}', "in.json", "surrogate"),
    "json deep": ("[" * 100_000, "in.json", "nested more than 200"),
    "json rather deep": ("[" * 500 + "]" * 500, "in.json", "nested more than 200"),
    "latin-1": (b"a: \xe4", "in.yaml", "in.yaml: is not UTF-8"),
    "utf-16": ("a: 1".encode("utf-16"), "in.yaml", "is not UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_broken_manifests_are_refused_with_their_place(case: str) -> None:
    """File, document, line or field are named."""
    text, name, says = REFUSED[case]
    with pytest.raises(InvalidObjectError, match=says):
        read(text, name)


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds for streams, whose size is not known before."""
    monkeypatch.setattr(reader, "MAX_BYTES", 10)
    with pytest.raises(InvalidObjectError, match="is larger than 10 bytes"):
        read("a" * 11)
