"""The operator's file of service tags, followed while it changes."""

import json
import os
from pathlib import Path

from control.egress.service_tags import LOOK_S, TagFile
from core.base.networks import network_of


def write(path: Path, prefix: str) -> None:
    """Write a file with one tag."""
    value = {"name": "Storage", "id": "Storage", "properties": {"addressPrefixes": [prefix]}}
    path.write_text(json.dumps({"changeNumber": 1, "cloud": "Public", "values": [value]}))
    os.utime(path, ns=(1, hash(prefix) & 0xFFFFFF))


def test_another_file_is_taken_and_a_broken_one_is_not(tmp_path: Path) -> None:
    """Fail static: the last good one stays in force, and it is said what is wrong."""
    path = tmp_path / "tags.json"
    write(path, "192.0.2.0/24")
    tags, now = TagFile(path), 100.0
    assert tags.look(now)
    assert tags.source.networks("Storage") == (network_of("192.0.2.0/24"),)
    assert not tags.look(now + LOOK_S)
    path.write_text("{")
    assert not tags.look(now + 2 * LOOK_S)
    assert tags.problem
    assert tags.source.networks("Storage") == (network_of("192.0.2.0/24"),)
    write(path, "198.51.100.0/24")
    assert not tags.look(now + 2 * LOOK_S + 1), "it is looked at every few seconds only"
    assert tags.look(now + 3 * LOOK_S)
    assert tags.problem == ""
    assert tags.source.networks("Storage") == (network_of("198.51.100.0/24"),)
    path.unlink()
    assert not tags.look(now + 4 * LOOK_S)
    assert "FileNotFound" in tags.problem
    assert tags.source.networks("Storage") == (network_of("198.51.100.0/24"),)


def test_without_a_file_no_tag_is_known() -> None:
    """And it says which setting names one."""
    tags = TagFile(None)
    assert not tags.look(0.0)
    assert "egress.tags" in str(tags.source.networks("Storage"))
    assert not tags.problem
