"""A Pod that is judged twice in one sweep has one decision."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import uuid7, uuid7_unix_ms
from core.decision.sweep_document import sweep_decision_id
from tests.unit.control.sweep.sample_pods import SWEEP


@given(st.uuids(), st.uuids())
def test_ids_are_those_of_sweep_and_object(one: uuid.UUID, other: uuid.UUID) -> None:
    """The same object gives the same id, another object or sweep another one."""
    made = sweep_decision_id(SWEEP, str(one))
    assert made == sweep_decision_id(SWEEP, str(one))
    assert (made == sweep_decision_id(SWEEP, str(other))) is (one == other)
    assert made != sweep_decision_id(uuid7(uuid7_unix_ms(SWEEP)), str(one))


@given(st.text())
def test_ids_are_uuids_of_version_7_at_the_sweeps_beginning(object_uid: str) -> None:
    """They sort and are kept with everything else."""
    made = uuid.UUID(sweep_decision_id(SWEEP, object_uid))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert uuid7_unix_ms(str(made)) == uuid7_unix_ms(SWEEP)


def test_an_id_stays_what_it_is() -> None:
    """A later release that goes on with a sweep must give the same ids."""
    assert sweep_decision_id(SWEEP, "0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11") == (
        "019aa68f-4b3b-71c0-892b-02adb8911561"
    )
