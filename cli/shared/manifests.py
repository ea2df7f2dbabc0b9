"""Reads the objects of files, folders and standard input; a Result stands for what is none."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cli.output import STANDARD_INPUT, as_unicode
from cli.shared.results import Result, Reviewed
from core.base.errors import InvalidObjectError, SettingsError
from core.decision.decision import Action, Finding, Verdict
from kube.manifests.reader import Manifest, find_files, read_paths, read_stream


def read_manifests(paths: Sequence[str]) -> Iterator[Manifest | Result]:
    """Yield each object of the files, and a Result for what is none."""
    for path in paths:
        for file in [STANDARD_INPUT] if path == STANDARD_INPUT else find_files(Path(path)):
            try:
                yield from _read(file)
            except InvalidObjectError as error:
                yield unreadable(str(file), error)


def _read(file: Path | str) -> Iterator[Manifest]:
    if isinstance(file, Path):
        yield from read_paths([file])
        return
    if sys.stdin is None:
        raise SettingsError("standard input is closed: name a file")
    yield from read_stream(sys.stdin.buffer, file)


def unreadable(file: str, error: InvalidObjectError) -> Result:
    """Return the result of what is no object: for people and programs, where it stands."""
    place = error.what.removeprefix(file)
    why = f"{error.field}: {error.problem}" if error.field else error.problem
    remedy = "Mend the file: nothing in it from there on was judged."
    finding = Finding(
        "error/object", Action.DENY, error.field, f"{as_unicode(file)}{place}: {why}", remedy
    )
    element = Reviewed(file=as_unicode(file), verdict=Verdict.ERROR, findings=[finding])
    number, _, item = place.removeprefix("#").partition(":")
    document = f"document {number}" + (f", {item}" if item else "")
    shown = document if place.startswith("#") else place.removeprefix(", ") or "whole file"
    message = f"{shown} could not be judged. This is an error, not a denial.\n\n{why}\n{remedy}"
    message = message[0].upper() + message[1:]
    return Result(element, message=message, place=shown, file=file, part=place)
