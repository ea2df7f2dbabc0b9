"""Answers of pure functions kept by the texts they are about: by short ones alone.

`functools.lru_cache` bounds how many answers it keeps, and not how long the texts are that it keeps
them by: 4,096 references to images, each as long as an AdmissionReview lets it be, are gigabytes.
Whatever takes a text that strangers write is cached by these instead (tests/unit/test_caches.py).
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Text = TypeVar("_Text", str, bytes)
_Answer = TypeVar("_Answer")


def cache_short_text(
    most: int, longest: int
) -> Callable[[Callable[[_Text], _Answer]], Callable[[_Text], _Answer]]:
    """Keep the last `most` answers about texts of at most `longest` characters, or bytes.

    What is asked of a longer one is worked out each time. A hit costs some 50 ns more than one of
    `functools.lru_cache`.
    """

    def decorate(function: Callable[[_Text], _Answer]) -> Callable[[_Text], _Answer]:
        cached = lru_cache(most)(function)

        @wraps(function)
        def answer(text: _Text) -> _Answer:
            return cached(text) if len(text) <= longest else function(text)

        return answer

    return decorate


def cache_short_texts(
    most: int, longest: int
) -> Callable[[Callable[_Parameters, _Answer]], Callable[_Parameters, _Answer]]:
    """Keep the last `most` answers of a function of several arguments, or of tuples of texts.

    All texts of a call together may have `longest` characters, or bytes.
    """

    def decorate(function: Callable[_Parameters, _Answer]) -> Callable[_Parameters, _Answer]:
        cached: Callable[..., _Answer] = lru_cache(most)(function)

        @wraps(function)
        def answer(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Answer:
            length = 0
            for each in (*args, *kwargs.values()) if kwargs else args:
                length += len(each) if type(each) is str else _length(each)
            return (cached if length <= longest else function)(*args, **kwargs)

        return answer

    return decorate


def _length(value: object) -> int:
    """Return the characters, or bytes, of a text or of those in a collection; else 0."""
    if isinstance(value, str | bytes):
        return len(value)
    return sum(map(_length, value)) if isinstance(value, tuple | frozenset) else 0
