"""Text made safe to print, and cut where it is long."""

from hypothesis import given
from hypothesis import strategies as st

from core.base.safe_text import (
    cut_after,
    join_some,
    printable,
    replace_unprintable,
    safe_line,
    safe_text,
    shorten,
)


@given(st.text())
def test_one_line_has_nothing_that_does_not_print(text: str) -> None:
    """Whatever the text, it is one line without control characters, and printable text stays."""
    assert safe_line(text).isprintable()
    assert safe_line(text) == text or not text.isprintable()


@given(st.text())
def test_kept_characters_stay(text: str) -> None:
    """What is kept although it does not print stays; all else is spelt out."""
    told = safe_line(text, kept="\u202f")
    assert told.replace("\u202f", "").isprintable()
    assert told.count("\u202f") == text.count("\u202f")


@given(st.text())
def test_lines_stay_lines(text: str) -> None:
    """Line ends alone are left of what does not print."""
    assert [line.isprintable() for line in safe_text(text).split("\n")] == [True] * (
        text.count("\n") + 1
    )


@given(st.text(), st.integers(min_value=2, max_value=20))
def test_shortened_text_has_at_most_so_many_characters(text: str, most: int) -> None:
    """The mark counts: text that fits stays, any other is as long as may be and ends in it."""
    for end in ("…", " …"):
        told = shorten(text, most, end)
        assert told == text if len(text) <= most else len(told) == most
        assert len(text) <= most or told == text[: most - len(end)] + end


@given(st.text(), st.integers(min_value=0, max_value=20))
def test_cut_text_keeps_so_many_characters(text: str, kept: int) -> None:
    """The mark comes on top of what is kept."""
    told = cut_after(text, kept)
    assert told == (text if len(text) <= kept else f"{text[:kept]}…")


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_messages_are_printable_and_short(text: str, most: int) -> None:
    """What a refusal quotes has no control characters and keeps to its length."""
    told = printable(text, most)
    assert told.isprintable()
    assert len(told) <= most


def test_messages_spell_by_number_and_lines_as_python_does() -> None:
    """The two spellings are both public, and differ for what has a name of its own."""
    assert printable("a\n\u202eb", 80) == "a\\x0a\\x202eb"
    assert safe_line("a\n\u202eb") == "a\\n\\u202eb"


@given(st.text())
def test_replaced_text_keeps_its_length(text: str) -> None:
    """One character stands for each that does not print, and those that are kept stay."""
    told = replace_unprintable(text, " ", kept="\n")
    assert len(told) == len(text)
    assert all(char.isprintable() or char == "\n" for char in told)
    assert told.count("\n") == text.count("\n")


def test_some_items_are_joined_and_the_others_counted() -> None:
    """As many as are shown are all of them, or the count of the others is told."""
    assert join_some([], 2) == ""
    assert join_some(["a", "b"], 2) == "a, b"
    assert join_some(["a", "b", "c", "d"], 2) == "a, b, 2 more"
