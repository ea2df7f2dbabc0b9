"""A witness cosigns what continues the log that it saw, nothing else (c2sp.org/tlog-witness)."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import cosigned_at
from audit.ledger.log.merkle import EMPTY_ROOT
from audit.ledger.log.signed_notes import (
    NoteSignature,
    VerifierKey,
    parse_note,
    parse_verifier_key,
)
from audit.ledger.witness.state import WitnessState, origin_digest
from audit.ledger.witness.submissions import SubmissionRefusal
from audit.ledger.witness.witness import Witness, WitnessIdentity
from core.base.errors import LedgerError
from tests.unit.audit.ledger.witness.published import (
    BANANAS,
    FIRST,
    MONKEYS,
    NEXT,
    PROOF,
    body,
    checkpoint,
)

KEY = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
IDENTITY = WitnessIdentity("witness.example/w1", KEY)
TIME = 1_700_000_000
OTHER_ROOT = bytes.fromhex("ff" * 8) + bytes(24)


def witness_of(folder: Path) -> Witness:
    """Return a witness of monkeys and bananas."""
    logs: dict[str, list[VerifierKey]] = {
        key.name: [key] for key in map(parse_verifier_key, (MONKEYS, BANANAS))
    }
    return Witness(IDENTITY, logs, WitnessState(folder), lambda: TIME)


@pytest.fixture
def seen(tmp_path: Path) -> Witness:
    """A witness that has seen five leaves of monkeys."""
    made = witness_of(tmp_path)
    assert isinstance(made.add_checkpoint(body(0, FIRST)), NoteSignature)
    return made


def status_of(answer: NoteSignature | SubmissionRefusal) -> int:
    """Return the status of HTTP."""
    return 200 if isinstance(answer, NoteSignature) else int(answer.status)


def test_what_continues_the_log_is_cosigned(seen: Witness, tmp_path: Path) -> None:
    """With a time, over the checkpoint as it came; it is served with both signatures."""
    answer = seen.add_checkpoint(body(5, NEXT, PROOF))
    assert isinstance(answer, NoteSignature)
    assert cosigned_at(parse_note(NEXT).text, answer, IDENTITY.verifier) == TIME
    digest = hashlib.sha256(b"monkeys").hexdigest()
    assert witness_of(tmp_path).find_checkpoint(digest) == NEXT.decode() + answer.line
    assert seen.find_checkpoint(hashlib.sha256(b"bananas").hexdigest()) is None


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (body(5, FIRST), 200),
        (body(5, checkpoint(5, OTHER_ROOT)), 409),
        (body(5, checkpoint(8, OTHER_ROOT), PROOF), 422),
        (body(5, NEXT, PROOF[:-1]), 422),
        (body(5, NEXT, (*PROOF, PROOF[0])), 422),
        (body(5, NEXT, PROOF[::-1]), 422),
        (body(5, NEXT), 422),
        (body(5, FIRST, PROOF), 422),
        (body(2, NEXT), 409),
        (body(0, NEXT), 409),
        (body(8, FIRST, PROOF), 400),
        (body(0, checkpoint(4, OTHER_ROOT)), 409),
        (body(0, checkpoint(0, EMPTY_ROOT)), 409),
    ],
)
def test_what_does_not_continue_it_is_refused(seen: Witness, content: bytes, status: int) -> None:
    """A fork, a replay, a proof that is cut, another old size; and it remembers what it saw."""
    assert status_of(seen.add_checkpoint(content)) == status
    again = seen.add_checkpoint(body(0, NEXT))
    assert isinstance(again, SubmissionRefusal)
    assert again.text == "5"
    assert status_of(seen.add_checkpoint(body(5, NEXT, PROOF))) == 200


def test_fork_of_the_same_size_is_a_conflict_that_people_are_told(seen: Witness) -> None:
    """As the protocol demands, with the size."""
    answer = seen.add_checkpoint(body(5, checkpoint(5, OTHER_ROOT)))
    assert isinstance(answer, SubmissionRefusal)
    assert (int(answer.status), answer.text) == (409, "5")
    assert answer.fork == "FORK: at 5 entries another root was cosigned before"


def test_old_checkpoint_is_refused_with_the_size_that_was_seen(seen: Witness) -> None:
    """Whoever replays it learns no more than the log's own size."""
    assert status_of(seen.add_checkpoint(body(5, NEXT, PROOF))) == 200
    for replayed in (body(0, FIRST), body(5, FIRST)):
        answer = seen.add_checkpoint(replayed)
        assert isinstance(answer, SubmissionRefusal)
        assert (int(answer.status), answer.text) == (409, "8")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (body(0, checkpoint(0, EMPTY_ROOT)), 200),
        (body(0, checkpoint(0, OTHER_ROOT)), 409),
        (body(0, FIRST, PROOF), 422),
        (body(5, NEXT, PROOF), 409),
    ],
)
def test_first_checkpoint_needs_no_proof(tmp_path: Path, content: bytes, status: int) -> None:
    """The empty tree has one root."""
    assert status_of(witness_of(tmp_path).add_checkpoint(content)) == status


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (body(5, NEXT.replace(b"monkeys\n8", b"gorillas\n8"), PROOF), 404),
        (body(5, NEXT.replace(b"monkeys\n8", b"bananas\n8"), PROOF), 403),
        (body(5, NEXT.replace(b"\n8\n", b"\n9\n"), PROOF), 403),
        (body(5, NEXT.replace(b" 202ffoUE", b" 202ffoUF"), PROOF), 403),
        (body(5, NEXT.replace(b" 202ffoUE", b" 202gfoUE"), PROOF), 403),
        (b"", 400),
        (b"old 5\n\n", 400),
        (b"old 05\n\n" + NEXT, 400),
        (b"old 5\nnonsense\n\n" + NEXT, 400),
        (b"old 5\n" + NEXT, 400),
        (body(5, NEXT, (PROOF[0],) * 64), 400),
        (body(5, NEXT[:-1], PROOF), 400),
        (body(5, NEXT, PROOF) + b"x" * 1024 * 1024, 400),
        (b"\xff" * 1024 * 1024, 400),
    ],
)
def test_others_and_what_is_no_request_are_refused(
    seen: Witness, content: bytes, status: int
) -> None:
    """Unknown logs, other keys, changed texts, bodies of a mebibyte."""
    assert status_of(seen.add_checkpoint(content)) == status


def test_signatures_of_others_are_ignored_and_not_kept(seen: Witness) -> None:
    """A log may have been cosigned elsewhere."""
    other = NoteSignature("witness.example/w2", b"abcd", b"x" * 72).line.encode()
    assert status_of(seen.add_checkpoint(body(5, NEXT + other * 15, PROOF))) == 200
    kept = seen.find_checkpoint(origin_digest("monkeys"))
    assert kept is not None
    assert "w2" not in kept


def _forget(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _swap(path: Path) -> None:
    stored = json.loads(path.read_bytes())
    stored["note"] = stored["note"].replace("\n5\n", "\n4\n")
    path.write_text(json.dumps(stored))


def _other(path: Path) -> None:
    stored = json.loads(path.read_bytes())
    stored["note"] = stored["note"].replace("monkeys\n", "bananas\n")
    stored["digest"] = hashlib.sha256(stored["note"].encode()).hexdigest()
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize("damage", [_forget, _empty, _cut, _swap, _other])
def test_damaged_state_is_an_error_and_no_new_beginning(
    seen: Witness, tmp_path: Path, damage: object
) -> None:
    """Else whoever damages it could have a fork cosigned."""
    path = tmp_path / f"{origin_digest('monkeys')}.json"
    assert callable(damage)
    damage(path)
    for content in (body(0, FIRST), body(5, NEXT, PROOF), body(4, NEXT, PROOF)):
        with pytest.raises(LedgerError, match="an older one would cosign a fork"):
            seen.add_checkpoint(content)


def test_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """A witness without its memory signs nothing."""
    with pytest.raises(LedgerError, match=r"--state .*: No such file"):
        witness_of(tmp_path / "none").add_checkpoint(body(0, FIRST))


def test_nothing_is_signed_that_cannot_be_kept(tmp_path: Path) -> None:
    """A folder stands where the file is to be."""
    (tmp_path / f"{origin_digest('monkeys')}.json").mkdir()
    with pytest.raises(LedgerError, match="nothing is cosigned"):
        WitnessState(tmp_path).write("monkeys", FIRST.decode())
    with pytest.raises(LedgerError, match="nothing is cosigned"):
        witness_of(tmp_path).add_checkpoint(body(0, FIRST))


def test_of_two_at_once_one_is_cosigned(seen: Witness, tmp_path: Path) -> None:
    """Two checkpoints that both continue the last one: in threads, and in two processes' states."""
    fork = body(5, checkpoint(5, parse_root(FIRST)))
    answers: list[int] = []
    witnesses = [seen, witness_of(tmp_path)] * 4

    def ask(one: Witness, content: bytes) -> None:
        answers.append(status_of(one.add_checkpoint(content)))

    threads = [threading.Thread(target=ask, args=(one, body(5, NEXT, PROOF))) for one in witnesses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [409] * 7
    assert status_of(seen.add_checkpoint(fork)) == 409


def parse_root(note: bytes) -> bytes:
    """Return the root of a checkpoint."""
    return base64.b64decode(note.split(b"\n")[2])


def test_what_was_cosigned_is_on_the_disk_before_the_answer(tmp_path: Path) -> None:
    """A process that ends at once, without a goodbye, has kept what it printed."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from tests.unit.audit.ledger.witness.test_witness import witness_of, body, FIRST\n"
        "answer = witness_of(Path(sys.argv[1])).add_checkpoint(body(0, FIRST))\n"
        "os.write(1, answer.line.encode()); os._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[5],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert (done.returncode, done.stdout[:4]) == (9, "— w".encode()[:4])
    answer = witness_of(tmp_path).add_checkpoint(body(0, NEXT))
    assert isinstance(answer, SubmissionRefusal)
    assert answer.text == "5"
