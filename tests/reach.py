"""Which test files a change reaches: what `make test SINCE=REV` runs.

The graph has every Python file of the repository. A file leads to the modules that it imports,
wherever in it, to those that its strings name (`-m MODULE`, `-c TEXT`, what a test replaces), and
a test also to each `conftest.py` above it and to the fixtures there that it asks for. What is
started as a program is followed too: a file that can start `sallyport` and has the word `gate`
leads to what the command `gate` imports, and not to the other commands. Files that are no Python
have their readers: `_READERS`, else whoever names them, else their whole room.

Where it is not sure it says more. It may still miss what no file shows: it is for the inner loop,
and CI runs everything.
"""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

_MAIN: Final = "cli.main"
_APP: Final = f"{_MAIN}.app"
_ENTRIES: Final = frozenset({_MAIN, "cli.kubectl"})
_STARTERS: Final = ("bench", "docs", "tests")
"""Folders whose files may start programs; elsewhere a word is not a command."""
_DOTTED: Final = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")
_COMMAND: Final = re.compile(r"(?:\A|\bsallyport )([a-z][a-z-]*)(?=\s|\Z)")
"""A string that is a command, begins with one, or has one after the program's name."""
_INSTALLED: Final[Mapping[str, frozenset[str]]] = {
    "tests.harness.programs.node.installed_chart": frozenset(
        {"sallyport auditor", "sallyport control", "sallyport gate", "sallyport verify"}
    )
    | {"cli.egress.release"}
}
"""What runs in the containers of the charts, by who installs them."""
_BUNDLE: Final = (
    "tests/api/backstop/",
    "tests/api/policies/",
    "tests/api/rules/",
    "tests/compat/",
    "tests/unit/docs/",
    "tests/unit/policies/",
    "tests/unit/test_house.py",
)
"""What tests the built-in rules, or the bundle that is made of them."""
_DOCS: Final = (
    "tests/unit/docs/",
    "tests/unit/test_house.py",
    "tests/unit/test_pages_name_tests.py",
)
_PROGRAM: Final = re.compile(r"sys\.executable\)\.(?:parent|with_name)|cli\.main import")
_NAMED_ALONE: Final = frozenset({"docs", "examples", "helm"})
"""Folders at the root of which a string that is the bare name means the folder."""
_SUITES: Final = ("tests/api/", "tests/compat/", "tests/fuzz/", "tests/node/", "tests/unit/")
_READERS: Final[Mapping[str, tuple[str, ...]]] = {
    "policies/rego/": _BUNDLE,
    "policies/build/": _BUNDLE,
    "policies/bundle/": _BUNDLE,
    "policies/library/": ("tests/unit/docs/", "tests/unit/policies/"),
    "helm/": ("tests/api/chart/", "tests/api/install/", "tests/node/", "tests/unit/helm/"),
    "deploy/image/": ("tests/node/", "tests/unit/deploy/"),
    "deploy/release/": ("tests/unit/deploy/",),
    "deploy/terraform/": ("tests/unit/terraform/",),
    "docs/": _DOCS,
}
"""Test files, or folders of them, that a change below a folder always reaches."""
_TEXTS: Final = frozenset(
    {".ci/run", ".gitignore", "LICENSE", "Makefile", "mkdocs.yml"}
) | frozenset(f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "README", "SECURITY"))
"""Files at the root of which only those who name them know."""


@dataclass(frozen=True)
class _Part:
    """A function or a class at the top of a file."""

    imports: frozenset[str]
    """Those inside it."""
    uses: frozenset[str]
    """The imports of the file that it names."""
    arguments: frozenset[str]
    words: frozenset[str]
    is_fixture: bool
    """Of pytest, for those who ask for it."""


@dataclass(frozen=True)
class _Source:
    """What a Python file says of others."""

    imports: frozenset[str]
    """As they are written: of `from a import b` both `a` and `a.b`."""
    parts: Mapping[str, _Part]
    """By name; only of a conftest.py and of what holds a command."""
    strings: frozenset[str]
    """Without docstrings."""
    words: frozenset[str]
    """What of its strings may be a command: none that is a key."""
    own_words: frozenset[str]
    """Those outside of its fixtures."""
    names: frozenset[str]
    """What may be fixtures that it asks for: the arguments of its functions, and strings."""
    starts: bool
    """Whether it starts what lies beside Python's own program, or runs the program itself."""


def read_source(text: str, path: str, *, parts: bool) -> _Source:
    """Read what a file says, and what its `parts` say each.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = ast.parse(text, path)
    nodes = list(ast.walk(tree))
    strings = frozenset(_strings(nodes, _docstrings(nodes)))
    imports = frozenset(_imports(nodes))
    starts = any(_PROGRAM.search(each) for each in (text, *strings)) or bool(imports & _ENTRIES)
    names = frozenset(each.arg for each in nodes if isinstance(each, ast.arg))
    if "usefixtures" in text or "getfixturevalue" in text:
        names |= strings
    found = _parts(tree) if parts else {}
    words = own_words = _words(nodes)
    fixtures = {name for name, part in found.items() if part.is_fixture}
    if fixtures:
        rest = [each for each in tree.body if getattr(each, "name", None) not in fixtures]
        own_words = _words([node for each in rest for node in ast.walk(each)])
    return _Source(imports, found, strings, words, own_words, names, starts)


def _strings(nodes: Iterable[ast.AST], skipped: Iterable[ast.AST | None]) -> Iterator[str]:
    others = set(map(id, skipped))
    for each in nodes:
        if (
            isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and id(each) not in others
        ):
            yield each.value


def _words(nodes: Sequence[ast.AST]) -> frozenset[str]:
    said = _strings(nodes, [*_docstrings(nodes), *_keys(nodes)])
    return frozenset(word for text in said for word in _COMMAND.findall(text))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for each in nodes:
        if isinstance(each, ast.Expr):
            yield each.value


def _keys(nodes: Iterable[ast.AST]) -> Iterator[ast.AST | None]:
    """Yield what stands where a key of a mapping does, or is compared."""
    for each in nodes:
        match each:
            case ast.Dict():
                yield from each.keys
            case ast.Subscript():
                yield each.slice
            case ast.Compare():
                yield from (each.left, *each.comparators)
            case ast.Call(func=ast.Attribute(attr="get")):
                yield from each.args


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for each in nodes:
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.module:
            yield each.module
            yield from (f"{each.module}.{alias.name}" for alias in each.names)


def _without_fixtures(source: _Source) -> frozenset[str]:
    """Return the imports that a file needs for more than its fixtures."""
    parts = source.parts.values()
    theirs = {each for part in parts if part.is_fixture for each in part.uses}
    theirs -= {each for part in parts if not part.is_fixture for each in part.uses}
    left = source.imports - theirs
    return left - {
        module
        for module in map(_folder, theirs)
        if not any(each.startswith(f"{module}.") for each in left)
    }


def _parts(tree: ast.Module) -> dict[str, _Part]:
    imported = {
        alias.asname or alias.name: f"{each.module}.{alias.name}"
        for each in tree.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    found = {}
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            nodes = list(ast.walk(each))
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            uses = frozenset(imported[name] for name in names & imported.keys())
            marks = " ".join(map(ast.unparse, each.decorator_list))
            is_fixture = "pytest.fixture" in marks and "autouse" not in marks
            arguments = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
            found[each.name] = _Part(
                frozenset(_imports(nodes)), uses, arguments, _words(nodes), is_fixture
            )
    return found


class Graph:
    """The modules of a repository, and what each leads to."""

    def __init__(self, root: Path) -> None:
        """Read every Python file below `root` that Git has or would take."""
        listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.py")
        self.paths = {_module(path): path for path in listed if (root / path).is_file()}
        main = self.paths.get(_MAIN)
        self._registered = list(_registered((root / main).read_text())) if main else []
        whole = {module for _, module, _ in self._registered}
        self._sources = {
            name: read_source(
                (root / path).read_text(),
                path,
                parts=name in whole or name.endswith(".conftest"),
            )
            for name, path in self.paths.items()
        }

    @cached_property
    def tests(self) -> dict[str, str]:
        """The paths of the files that `make test` runs, by module."""
        return {
            name: path
            for name, path in self.paths.items()
            if PurePosixPath(path).name.startswith("test_") and path.startswith(_SUITES)
        }

    @cached_property
    def edges(self) -> dict[str, set[str]]:
        """What each leads to: modules, `CONFTEST:FIXTURE`, `sallyport COMMAND`.

        A command leads to `MODULE:`, the file that holds it without what others in it import.
        """
        edges = {name: self._edges_of(name, source) for name, source in self._sources.items()}
        edges |= {
            f"{name}:{fixture}": self._resolved(part.uses) | self._asked(name, part.arguments)
            for name, parts in self._fixtures.items()
            for fixture, part in parts.items()
        }
        starters = {name for name, each in self._sources.items() if each.starts}
        can_start = before(edges, {name for name in starters if name.startswith(_STARTERS)})
        folders = {_folder(name) for name in can_start}
        for name in edges:
            # What is handed to those that start programs is said beside them.
            beside = not name.startswith("tests.harness.") and _folder(name) in folders
            if name.startswith(_STARTERS) and (name in can_start or beside):
                edges[name] |= self._started_by(name)
        for name, installed in _INSTALLED.items():
            edges.get(name, set()).update(installed)
        return edges | self._commands

    def _edges_of(self, name: str, source: _Source) -> set[str]:
        said = {found for text in source.strings for found in _DOTTED.findall(text)}
        imports = source.imports
        if name == _MAIN:  # The command that is run imports its own.
            imports -= {imported for imported in imports if self._is_command(imported)}
        elif name in self._fixtures:
            imports = _without_fixtures(source)
        edges = self._resolved(imports) | {each for each in self._resolved(said) if "." in each}
        if name in self.tests:
            edges |= set(self._conftests(name))
        if name not in self._fixtures:
            edges |= self._asked(name, source.names)
        return edges - {name}

    @cached_property
    def _fixtures(self) -> dict[str, dict[str, _Part]]:
        """The fixtures of each conftest.py that are there for those who ask for them."""
        return {
            name: {key: part for key, part in source.parts.items() if part.is_fixture}
            for name, source in self._sources.items()
            if name.endswith(".conftest")
        }

    def _conftests(self, name: str) -> Iterator[str]:
        for folder in _above(name):
            if f"{folder}.conftest" in self.paths:
                yield f"{folder}.conftest"

    def _asked(self, name: str, words: frozenset[str]) -> set[str]:
        """Return the fixtures that a module asks for."""
        return {
            f"{conftest}:{fixture}"
            for conftest in self._conftests(name)
            for fixture in words & self._fixtures[conftest].keys()
        }

    def _is_command(self, imported: str) -> bool:
        return any(f"{imported}.".startswith(f"{module}.") for _, module, _ in self._registered)

    def _started_by(self, name: str) -> set[str]:
        """Return the commands that a file or a fixture names; all of one that has the whole app."""
        module, _, fixture = name.partition(":")
        source = self._sources[module]
        words = source.parts[fixture].words if fixture else source.words
        if not fixture and module in self._fixtures:
            words = source.own_words
        if _APP in source.imports:
            return set(self._commands)
        return {f"sallyport {each}" for each in words} & self._commands.keys()

    @cached_property
    def _commands(self) -> dict[str, set[str]]:
        """What each command leads to: what its function imports, and none of another command's."""
        found = {}
        for command, module, function in self._registered:
            source = self._sources[module]
            others = {each for _, there, each in self._registered if there == module} - {function}
            late = {each for other in others for each in source.parts[other].imports}
            own = source.parts[function].imports if function else frozenset()
            imports = (source.imports - late) | own
            found[f"sallyport {command}"] = {_MAIN, f"{module}:", *self._resolved(imports)}
        return found

    def _resolved(self, names: Iterable[str]) -> set[str]:
        """Return the modules that such names load, the packages above them among them."""
        found: set[str] = set()
        for name in names:
            while name and name not in self.paths:
                name = _folder(name)  # noqa: PLW2901 -- a name of a module and what is in it
            if name:
                found |= {name, *_above(name)} & self.paths.keys()
        return found

    def reached(self, changed: Iterable[str]) -> set[str]:
        """Return the paths of the tests that changes of files, by path, reach."""
        seeds: set[str] = set()
        for path in changed:
            found = self._seeds(path)
            if found is None:
                return set(self.tests.values())
            seeds |= found
        return {self.tests[name] for name in before(self.edges, seeds) & self.tests.keys()}

    def _seeds(self, path: str) -> set[str] | None:
        """Return the modules that a changed file changes; None if it may change any."""
        readers = [each for folder, each in _READERS.items() if path.startswith(folder)]
        found = self._tests_below(*(each for folders in readers for each in folders))
        if not path.endswith(".py"):
            return self._readers(path, found) or None
        name = _module(path)
        if name in self.paths:
            return found | {name, f"{name}:"}
        below = _folder(name) + "." if name.endswith(".conftest") else f"{name}."
        return found | {
            each
            for each, source in self._sources.items()
            if name in source.imports or (name.endswith(".conftest") and each.startswith(below))
        }

    def _tests_below(self, *starts: str) -> set[str]:
        return {name for name, path in self.tests.items() if path.startswith(starts)}

    def _below(self, folder: str) -> set[str]:
        return {name for name, path in self.paths.items() if path.startswith(folder)}

    @cached_property
    def _readable(self) -> set[str]:
        """Those whose strings may name a file that they read."""
        no_readers = ("tests.tools.", "tests.conftest", "tests.reach", "tests.check", "tests.run")
        return {
            name
            for name in self.paths
            if name.startswith(_STARTERS) and not name.startswith(no_readers)
        }

    def _naming(self, path: str) -> set[str]:
        """Return those that name a file that is no Python, or a folder above it."""
        return {name for name in self._readable if _names(self._sources[name].strings, path)}

    def _readers(self, path: str, found: set[str]) -> set[str]:
        """Return those that read a file that is no Python, `found` among them."""
        top, *_ = PurePosixPath(path).parts
        if path in _TEXTS:
            return self._naming(path) | self._tests_below(*_DOCS)
        if found or top in _NAMED_ALONE:
            return found | self._naming(path)
        if top not in self.paths:
            return set()
        folder, *rest = PurePosixPath(path).parents
        while not (beside := self._below(f"{folder}/")):
            folder, *rest = rest
        if top != "tests":
            return self._naming(path) | beside
        # Data of tests lies in a folder beside those who read it, or one for all.
        own = PurePosixPath(path).relative_to(folder).parts
        named = {name for name in self._readable if self._sources[name].strings & {*own}}
        return named | (set() if str(folder) in {"tests", "tests/tools"} else beside)


def before(edges: Mapping[str, set[str]], seeds: set[str]) -> set[str]:
    """Return the seeds and all that lead to one of them."""
    back: dict[str, list[str]] = {}
    for name, leads_to in edges.items():
        for each in leads_to:
            back.setdefault(each, []).append(name)
    found: set[str] = set()
    ahead = list(seeds)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += back.get(name, ())
    return found


def changed_since(root: Path, revision: str) -> list[str]:
    """Return the paths of the files that differ from a revision, committed or not.

    Raises:
        subprocess.CalledProcessError: Git knows no such revision.
    """
    differ = git(root, "diff", "--name-only", "--no-renames", revision, "--")
    return sorted({*differ, *git(root, "ls-files", "--others", "--exclude-standard")})


def git(root: Path, command: str, *arguments: str) -> list[str]:
    """Return the paths that a command of Git lists."""
    program = shutil.which("git") or "git"
    done = subprocess.run(
        [program, command, "-z", *arguments],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [path for path in done.stdout.split("\0") if path]


def _registered(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each command of `cli.main`: its name, its module, and its function there if one is."""
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name: (each.module, alias.name)
        for each in tree.body
        if isinstance(each, ast.ImportFrom) and each.module
        for alias in each.names
    }
    for each in ast.walk(tree):
        match each:
            case ast.Call(
                func=ast.Attribute(attr="add_typer"),
                args=[ast.Name(id=name)],
                keywords=[ast.keyword(arg="name", value=ast.Constant(value=str(command)))],
            ):
                yield command, imported[name][0], ""
            case ast.Call(
                func=ast.Call(func=ast.Attribute(attr="command")), args=[ast.Name(id=name)]
            ):
                yield name.replace("_", "-"), *imported[name]


def _names(strings: frozenset[str], path: str) -> bool:
    top, *below = PurePosixPath(path).parts
    if path.rpartition("/")[2] in strings or (top in strings and top in _NAMED_ALONE):
        return top != "docs" or not strings.isdisjoint(below)  # A page is one of hundreds.
    return any("/" in text and f"/{text.strip('/')}/" in f"/{path}/" for text in strings)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folder(name: str) -> str:
    return name.rpartition(".")[0]


def _above(name: str) -> Iterator[str]:
    """Yield the packages above a module."""
    while name := _folder(name):
        yield name
