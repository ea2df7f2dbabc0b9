"""What was learnt survives the process; a file that is not right is not used."""

import hashlib
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import msgspec
import pytest

from audit.behaviour.acts import ActKind
from audit.behaviour.state_file import (
    FORMAT,
    StoredCluster,
    StoredState,
    decode_state,
    encode_state,
    store_habits,
    write_state,
)
from core.base.errors import LedgerError
from core.risk.model import Behaviour, identity_key
from tests.unit.audit.behaviour.acts_of_people import AFTER, DAY, HOUR, WHO, act, learnt, used

MORNING = AFTER + 10 * HOUR


def stored() -> bytes:
    """Return the file of a cluster in which WHO just entered many Pods."""
    habits = used()
    learnt(*[act(MORNING + each, doing=ActKind.ENTER) for each in range(60)], habits=habits)
    cluster = StoredCluster(
        "prod-1",
        habits.salt,
        habits.began,
        [store_habits(*each) for each in habits.people],
        [store_habits(*each) for each in habits.machines],
        [{bit.value: norm for bit, norm in habits.norms[each].items()} for each in (False, True)],
        [(who, {bit.value: at for bit, at in one.until.items()}) for who, one in habits.acting],
    )
    return encode_state(StoredState(FORMAT, [cluster], 7, "log", {"prod-1": MORNING}))


def test_what_is_read_back_goes_on_as_before() -> None:
    """The same acts afterwards give the same answers as without the file between."""
    restored = decode_state(stored())
    assert (restored.position, restored.log, restored.audited) == (7, "log", {"prod-1": MORNING})
    read = restored.clusters["prod-1"]
    original = used()
    learnt(*[act(MORNING + each, doing=ActKind.ENTER) for each in range(60)], habits=original)
    assert read.acting.of(identity_key(WHO)).keys() == {Behaviour.EXEC_BURST}
    later = [
        act(MORNING + HOUR, namespace="team-b"),
        act(MORNING + 17 * HOUR),
        act(MORNING + DAY, label="user:stranger"),
        *[act(MORNING + DAY + each) for each in range(60)],
    ]
    for one in later:
        assert read.learn(one, one.at) == original.learn(one, one.at)
    assert dict(read.people) == dict(original.people)
    assert read.norms == original.norms


@pytest.mark.parametrize("at", [0, 19, 30, 60, 300, -1])
def test_a_damaged_file_is_refused(at: int) -> None:
    """Whichever byte is wrong."""
    content = bytearray(stored())
    content[at] ^= 1
    with pytest.raises(LedgerError, match="learnt anew"):
        decode_state(bytes(content))
    with pytest.raises(LedgerError, match="damaged"):
        decode_state(bytes(content[:40]))


@pytest.mark.parametrize(("number", "is_read"), [(1, False), (2, True), (3, True), (4, False)])
def test_the_next_format_is_read_and_none_before(number: int, is_read: bool) -> None:  # noqa: FBT001
    """What an earlier release learnt nobody confirmed; one too new is learnt anew, and said."""
    body = zlib.compress(msgspec.msgpack.encode({"format": number, "clusters": []}))
    content = b"sallyport-behaviour\n" + hashlib.sha256(body).digest() + body
    if is_read:
        assert decode_state(content).clusters == {}
    else:
        with pytest.raises(LedgerError, match=f"format {number}"):
            decode_state(content)


WRITER = """
import sys
from pathlib import Path
from audit.behaviour.state_file import write_state
content = Path(sys.argv[1]).read_bytes()
print("begun", flush=True)
while True:
    write_state(Path(sys.argv[2]), content)
"""


def test_whoever_is_killed_while_writing_leaves_a_whole_file(tmp_path: Path) -> None:
    """Ten times at random moments: the file is that of before or of after."""
    source, path = tmp_path / "source", tmp_path / "state"
    source.write_bytes(stored())
    write_state(path, source.read_bytes())
    assert path.stat().st_mode & 0o077 == 0
    for turn in range(10):
        command = [sys.executable, "-c", WRITER, str(source), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(0.003 * turn)
            os.kill(process.pid, signal.SIGKILL)
        assert decode_state(path.read_bytes()).clusters.keys() == {"prod-1"}
