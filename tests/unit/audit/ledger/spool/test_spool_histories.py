"""Whatever happens to a spool in whatever order: each frame comes out once, in order."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ledger.records.frames import Frame
from tests.harness.sizes import size
from tests.unit.audit.ledger.spool.spools import Opened, frame, unopened, wait_until

STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 12)),
    st.tuples(st.just("ship"), st.integers(1, 40)),
    st.tuples(st.just("read"), st.integers(1, 40)),
    st.tuples(st.just("settle"), st.just(0)),
    st.tuples(st.just("close"), st.just(0)),
    st.tuples(st.just("crash"), st.just(0)),
)


@dataclass
class History:
    """A spool, what was put in, and what came out."""

    folder: Path
    made: Opened
    sent: list[Frame] = field(default_factory=list)
    shipped: list[Frame] = field(default_factory=list)
    lives: int = 1

    def append(self, count: int) -> None:
        """Append some frames, of many sizes."""
        for _ in range(count):
            one = frame(len(self.sent), len(self.sent) * 37 % 900)
            self.made.append(one)
            self.sent.append(one)

    def ship(self, most: int) -> None:
        """Read and acknowledge a batch."""
        batch = self.made.spool.read(3000, most)
        self.made.spool.acknowledge(batch)
        self.shipped += batch.frames

    def read(self, most: int) -> None:
        """Read a batch, and come to grief before it is acknowledged."""
        self.made.spool.read(3000, most)

    def settle(self, _: int) -> None:
        """Wait for the disk."""
        wait_until(lambda: self.made.spool.settled)

    def close(self, _: int) -> None:
        """Stop, and start again."""
        self.made.spool.close()
        self._open(self.made.spool.folder)

    def crash(self, _: int) -> None:
        """Leave the files as they are at a moment, and start again on them."""
        self.settle(0)
        left = self.folder / str(self.lives)
        shutil.copytree(self.made.spool.folder, left)
        self.made.spool.close()
        self._open(left)

    def _open(self, folder: Path) -> None:
        assert self.made.damages == []
        self.made = unopened(folder)
        self.made.spool.open()
        self.lives += 1


@pytest.mark.proof
@given(st.lists(STEPS, max_size=25))
@settings(max_examples=size(ci=60, proof=1500), deadline=None)
def test_each_frame_comes_out_once_and_in_order(steps: list[tuple[str, int]]) -> None:
    """Through stops, crashes and batches that were read in vain."""
    with tempfile.TemporaryDirectory() as name:
        made = unopened(Path(name) / "0")
        made.spool.open()
        history = History(Path(name), made)
        for step, argument in steps:
            getattr(history, step)(argument)
        history.settle(0)
        history.shipped += history.made.ship()
        assert history.shipped == history.sent
        assert history.made.spool.status().unacknowledged_bytes == 0
        history.made.spool.close()
        assert history.made.damages == []
