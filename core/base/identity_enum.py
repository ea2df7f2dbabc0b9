"""An `Enum` for what is looked up millions of times."""

import enum


class IdentityEnum(enum.Enum):
    """An `Enum` whose members hash by what they are, as they compare.

    `Enum.__hash__` is a Python function that hashes the name (0.2 us): each lookup of a member in a
    dict or set calls it. A member is one object in a process, so its identity does.
    """

    __hash__ = object.__hash__
