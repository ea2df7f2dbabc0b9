"""Knows what the names in a template's files of Rego stand for."""

from collections.abc import Sequence

from policies.gatekeeper_import.syntax import Rule, Term, Tree, dotted, package_of, rules_of

Package = tuple[str, ...]


class _Module:
    def __init__(self) -> None:
        self.rules: dict[str, list[Rule]] = {}
        self.imports: dict[str, list[Term]] = {}


class Names:
    """Resolves names, from the trees of all files."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._modules: dict[Package, _Module] = {}
        for tree in trees:
            module = self._modules.setdefault(package_of(tree), _Module())
            for rule in rules_of(tree):
                name = str(rule["head"]["ref"][0]["value"])
                module.rules.setdefault(name, []).append(rule)
            for each in tree.get("imports") or []:
                parts = each["path"]["value"]
                module.imports[each.get("alias") or str(parts[-1]["value"])] = parts

    def rules(self, package: Package, name: str) -> list[Rule]:
        """Give the clauses of a rule; none where there is no such rule."""
        module = self._modules.get(package)
        return module.rules.get(name, []) if module else []

    def arity(self, package: Package, name: str) -> int:
        """Give how many arguments a function has."""
        rules = self.rules(package, name)
        return len(rules[0]["head"].get("args") or []) if rules else 0

    def resolve(
        self, package: Package, parts: Sequence[Term]
    ) -> tuple[Package, str, Sequence[Term]] | None:
        """Give package and name of the rule that a reference begins with, and the rest of it."""
        head = str(parts[0]["value"])
        module = self._modules[package]
        if head in module.rules:
            return package, head, parts[1:]
        if head in module.imports:
            parts = [*module.imports[head], *parts[1:]]
        if parts[0]["value"] != "data":
            return None
        names = dotted(list(parts)).split(".")[1:]
        for end in range(len(names), 0, -1):
            found = self._modules.get(tuple(names[: end - 1]))
            if found and names[end - 1] in found.rules:
                return tuple(names[: end - 1]), names[end - 1], parts[end + 1 :]
        return None

    def imported(self, package: Package, head: str) -> list[Term]:
        """Give what a name of an import stands for, where it is a part of the input."""
        parts = self._modules[package].imports.get(head, [])
        return parts if parts and parts[0]["value"] == "input" else []
