"""Answers about short texts are worked out once, those about long ones each time."""

from core.base.short_text_cache import cache_short_text, cache_short_texts


def test_a_short_text_is_asked_once_and_a_long_one_each_time() -> None:
    """The bound is inclusive."""
    asked: list[str] = []

    @cache_short_text(4, longest=3)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length(text) for text in ("abc", "abc", "abcd", "abcd")] == [3, 3, 4, 4]
    assert asked == ["abc", "abcd", "abcd"]


def test_the_answer_that_was_used_longest_ago_is_forgotten_first() -> None:
    """No more than `most` are kept."""
    asked: list[bytes] = []

    @cache_short_text(2, longest=1)
    def length(text: bytes) -> int:
        asked.append(text)
        return len(text)

    for text in (b"a", b"b", b"a", b"c", b"a", b"b"):
        length(text)
    assert asked == [b"a", b"b", b"c", b"b"]


def test_all_texts_of_a_call_count_together() -> None:
    """Also those in tuples, and those that are given by name."""
    asked: list[str] = []

    @cache_short_texts(4, longest=6)
    def joined(texts: tuple[str, ...], end: str = "") -> str:
        asked.append("".join(texts) + end)
        return asked[-1]

    for _ in range(2):
        assert joined(("ab", "cd"), "ef") == "abcdef"
        assert joined(("ab", "cd"), end="efg") == "abcdefg"
        assert joined(("ab", "cde"), "fg") == "abcdefg"
    assert asked == ["abcdef", "abcdefg", "abcdefg", "abcdefg", "abcdefg"]


def test_an_error_is_not_kept() -> None:
    """As `functools.lru_cache` keeps none."""
    asked: list[str] = []

    @cache_short_text(4, longest=3)
    def number(text: str) -> int:
        asked.append(text)
        return int(text)

    for _ in range(2):
        try:
            number("x")
        except ValueError:
            continue
    assert asked == ["x", "x"]


def test_values_that_are_no_texts_count_nothing() -> None:
    """Texts in collections do, however deep."""
    asked: list[int] = []

    @cache_short_texts(4, longest=4)
    def number(first: int, among: tuple[object, ...]) -> int:
        asked.append(first)
        return first

    for _ in range(2):
        number(10**9, ("ab", (b"c", None), frozenset({"d"})))
        number(1, ("ab", (b"c", None), frozenset({"de"})))
    assert asked == [10**9, 1, 1]
