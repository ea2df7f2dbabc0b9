"""Which notes an object must carry after a request, and what is wrong with others."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.decision.requester_notes import NO_NOTES, RequesterNotes
from identity.requester_note_rules import NoteChange, NotedChange, required_notes, wrong_notes

ANN: Final = "oid:11111111-2222-3333-4444-555555555555"
BEN: Final = "user:0123456789abcdef"
MINE: Final = RequesterNotes(ANN, "net")
THEIRS: Final = RequesterNotes(BEN, "wide")

REQUESTER: Final = ("notes/requester", "metadata.annotations[sallyport.dev/requester]")
PROFILE: Final = ("notes/profile", "metadata.annotations[sallyport.dev/profile]")
OWNER: Final = ("notes/owner", "metadata.ownerReferences")


def renewed(new: RequesterNotes, old: RequesterNotes = NO_NOTES, **more: Any) -> NoteChange:
    """Return the change of an object that ANN creates, or whose templates she changes."""
    return NoteChange(NotedChange.RENEWED, ANN, new, old, **more)


def kept(new: RequesterNotes, old: RequesterNotes, **more: Any) -> NoteChange:
    """Return the change of an object that ANN updates otherwise."""
    return NoteChange(NotedChange.KEPT, ANN, new, old, **more)


def made(
    new: RequesterNotes,
    root: RequesterNotes = NO_NOTES,
    old: RequesterNotes = NO_NOTES,
    **more: Any,
) -> NoteChange:
    """Return the change of what a configured controller makes."""
    return NoteChange(NotedChange.MADE, "system:controller", new, old, root=root, **more)


@pytest.mark.parametrize(
    ("change", "profile", "wrong"),
    [
        # Created, or its templates changed.
        (renewed(MINE), "net", []),
        (renewed(MINE, THEIRS), "net", []),
        (renewed(RequesterNotes(ANN)), None, []),
        (renewed(NO_NOTES), "net", [REQUESTER, PROFILE]),
        (renewed(RequesterNotes(None, "net")), "net", [REQUESTER]),
        (renewed(RequesterNotes(ANN)), "net", [PROFILE]),
        (renewed(RequesterNotes(BEN, "net")), "net", [REQUESTER]),
        (renewed(THEIRS, THEIRS), "wide", [REQUESTER]),
        # A Pod must only not be wrong.
        (renewed(NO_NOTES, workload=False), "net", []),
        (renewed(RequesterNotes(None, "net"), workload=False), "net", []),
        (renewed(RequesterNotes(BEN), workload=False), "net", [REQUESTER]),
        # Updated without a change of templates.
        (kept(MINE, MINE), None, []),
        (kept(THEIRS, THEIRS), None, []),
        (kept(NO_NOTES, NO_NOTES), None, []),
        (kept(MINE, THEIRS), None, [REQUESTER, PROFILE]),
        (kept(RequesterNotes(ANN, "wide"), THEIRS), None, [REQUESTER]),
        (kept(RequesterNotes(BEN, "net"), THEIRS), None, [PROFILE]),
        (kept(MINE, NO_NOTES), None, [REQUESTER, PROFILE]),
        (kept(NO_NOTES, THEIRS), None, [REQUESTER, PROFILE]),
        (kept(RequesterNotes(BEN), RequesterNotes(ANN), workload=False), None, [REQUESTER]),
        (kept(NO_NOTES, RequesterNotes(BEN), workload=False), None, []),
        (kept(RequesterNotes(None, "wide"), RequesterNotes(None, "net"), workload=False), None, []),
        # Put under somebody else's controller.
        (kept(MINE, MINE, taken=True), None, []),
        (kept(NO_NOTES, NO_NOTES, taken=True), None, [OWNER]),
        # Made by a controller.
        (made(NO_NOTES, MINE), None, []),
        (made(MINE, MINE), None, []),
        (made(RequesterNotes(None, "wide"), MINE), None, []),
        (made(THEIRS, MINE), None, [REQUESTER]),
        (made(RequesterNotes(ANN, "wide"), MINE), None, [REQUESTER]),
        (made(RequesterNotes(ANN), MINE), None, [REQUESTER]),
        (made(THEIRS), None, [REQUESTER]),
        (made(THEIRS, MINE, THEIRS), None, []),
        (made(THEIRS, MINE, copied=True), None, []),
    ],
)
def test_notes_that_are_not_the_gates_are_findings(
    change: NoteChange, profile: str | None, wrong: list[tuple[str, str]]
) -> None:
    """Each with its field; what is as it must be has none."""
    found = wrong_notes(change, profile)
    assert [(finding.rule, finding.path) for finding in found] == wrong
    assert all(finding.message and finding.remedy for finding in found)


def test_nothing_is_missed_on_what_is_refused_anyway() -> None:
    """The mutating webhook noted nothing there; but somebody else's name is never right."""
    assert wrong_notes(renewed(NO_NOTES), None, refused=True) == ()
    (found,) = wrong_notes(renewed(THEIRS), None, refused=True)
    assert (found.rule, found.path) == REQUESTER


NOTE = st.one_of(st.none(), st.sampled_from([ANN, BEN, "net", "wide"]))
NOTES = st.builds(RequesterNotes, NOTE, NOTE)
CHANGES = st.builds(
    NoteChange,
    st.sampled_from(NotedChange),
    st.sampled_from([ANN, BEN]),
    NOTES,
    NOTES,
    root=NOTES,
    workload=st.booleans(),
    copied=st.booleans(),
)


def after(change: NoteChange, profile: str | None) -> NoteChange:
    """Return the change as the validating pass sees it, after the mutating one."""
    due = required_notes(change, profile)
    new = RequesterNotes(
        due.get("sallyport.dev/requester", change.new.requester),
        due.get("sallyport.dev/profile", change.new.profile),
    )
    return NoteChange(
        change.change,
        change.requester,
        new,
        change.old,
        change.root,
        workload=change.workload,
        copied=change.copied,
        taken=change.taken,
    )


@given(change=CHANGES, profile=NOTE)
def test_noting_twice_is_noting_once(change: NoteChange, profile: str | None) -> None:
    """A webhook that is called again changes nothing more."""
    once = after(change, profile)
    assert after(once, profile) == once


@given(change=CHANGES, profile=NOTE)
def test_what_was_noted_is_right(change: NoteChange, profile: str | None) -> None:
    """Whatever its author wrote, what is created or has new templates is admitted as noted."""
    if change.change is NotedChange.RENEWED:
        assert wrong_notes(after(change, profile), profile) == ()


@given(change=CHANGES, profile=NOTE)
def test_nobody_is_noted_who_did_not_ask(change: NoteChange, profile: str | None) -> None:
    """A final state without findings names the requester, who was noted before, or its root's."""
    final = after(change, profile)
    if not wrong_notes(final, profile) and not change.copied:
        known = {None, change.old.requester, change.root.requester}
        asked = {change.requester} if change.change is NotedChange.RENEWED else set[str | None]()
        assert final.new.requester in known | asked


def test_what_a_controller_makes_is_never_patched() -> None:
    """Its controller would write it back, again and again."""
    assert required_notes(made(THEIRS, MINE), "net") == {}


def test_what_was_dropped_is_put_back_and_what_was_changed_is_not() -> None:
    """`kubectl replace` drops annotations that its file does not have; a change is somebody's."""
    assert required_notes(kept(NO_NOTES, MINE), None) == {
        "sallyport.dev/requester": ANN,
        "sallyport.dev/profile": "net",
    }
    assert required_notes(kept(THEIRS, MINE), None) == {}
