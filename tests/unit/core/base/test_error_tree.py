"""The tree of exceptions, as the module's docstring draws it."""

import inspect
import re

from core.base import errors


def test_the_drawing_is_the_tree() -> None:
    """Each exception once, below the one that it is a branch of."""
    drawn: dict[str, str] = {}
    above = ["SallyportError"]
    for stem, name in re.findall(r"^ {4}([ │├└─]+)(\w+Error)", errors.__doc__ or "", re.MULTILINE):
        depth = len(stem) // 4
        above[depth:] = [name]
        drawn[name] = above[depth - 1]
    found = {
        name: kind.__bases__[0].__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind is not errors.SallyportError
    }
    assert drawn == found


def test_long_quotations_in_an_invalid_object_are_cut() -> None:
    """A field's name can be as long as its object, and goes into a message, a log and a record."""
    error = errors.InvalidObjectError("Job", "spec." + "n" * 1_000_000, "x" * 1_000_000)
    assert error.field.startswith("spec.nnn")
    assert len(error.field) == len(error.problem) == 2048
    assert len(str(error)) < 5_000
