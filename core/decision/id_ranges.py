"""The user and group IDs of a namespace, as OpenShift's annotations write them.

Source: github.com/openshift/library-go pkg/security/uid/uid.go (ParseBlock) and
apiserver-library-go pkg/securitycontextconstraints/sccmatching/matcher.go: one block for users,
several for groups; without groups the block of the users stands for them too. What that parser
lets pass and no range can mean (an empty block, one that ends before it begins, text behind it) is
refused here, and so is a block that holds 0.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from core.base import names
from core.base.errors import NamespaceMarkError

_BLOCK: Final = re.compile(r"([0-9]{1,10})([/-])([0-9]{1,10})")

_LARGEST: Final = 2**31 - 1
"""The largest ID that Kubernetes takes (apimachinery util/validation IsValidUserID)."""

_MOST_BLOCKS: Final = 32

_LONGEST: Final = 1024
"""Characters of an annotation."""

_MOST_REMEMBERED: Final = 4096


class IdBlock(msgspec.Struct, frozen=True, gc=False):
    """IDs from `first` to `last`, both included."""

    first: int
    last: int


class IdRanges(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The IDs that a namespace may use; empty where nothing is said."""

    users: tuple[IdBlock, ...] = ()
    groups: tuple[IdBlock, ...] = ()


def parse_id_ranges(namespace: str, annotations: Mapping[str, str]) -> IdRanges | None:
    """Return the ranges that a namespace's annotations give; None where they give none.

    Raises:
        NamespaceMarkError: an annotation is no range; names it and what it must be.
    """
    users = annotations.get(names.UID_RANGE_ANNOTATION)
    groups = annotations.get(names.SUPPLEMENTAL_GROUPS_ANNOTATION)
    if users is None and groups is None:
        return None
    try:
        found = _blocks(users, names.UID_RANGE_ANNOTATION, 1) if users is not None else ()
        if groups is None:
            return IdRanges(found, found)
        return IdRanges(found, _blocks(groups, names.SUPPLEMENTAL_GROUPS_ANNOTATION, _MOST_BLOCKS))
    except ValueError as error:
        raise NamespaceMarkError(f"Namespace {namespace}: {error}") from error


@lru_cache(_MOST_REMEMBERED)
def _blocks(text: str, annotation: str, most: int) -> tuple[IdBlock, ...]:
    """Read comma-separated blocks.

    Raises:
        ValueError: it holds no block, too many, or one that is none.
    """
    segments = text.split(",") if len(text) <= _LONGEST else []
    if not 1 <= len(segments) <= most:
        problem = f"must hold {'one block' if most == 1 else f'1 to {most} blocks'}"
        raise ValueError(_problem(annotation, problem, most))
    return tuple(_block(each.strip(), annotation, most) for each in segments)


def _block(text: str, annotation: str, most: int) -> IdBlock:
    match = _BLOCK.fullmatch(text)
    if match is None:
        raise ValueError(_problem(annotation, f"{text[:80]!r} is no block", most))
    first, second = int(match[1]), int(match[3])
    last = first + second - 1 if match[2] == "/" else second
    if not 0 < first <= last <= _LARGEST:
        problem = f"{text!r} must hold IDs from 1 to {_LARGEST}, the first one first"
        raise ValueError(_problem(annotation, problem, most))
    return IdBlock(first, last)


def _problem(annotation: str, problem: str, most: int) -> str:
    more = "" if most == 1 else ", with commas between"
    form = "FIRST/COUNT or FIRST-LAST, such as 1000680000/10000"
    return f"metadata.annotations[{annotation}]: {problem}. Write {form}{more}, or remove it."
