"""The second half of the --help of `sallyport policy`: examples, exit codes."""

POLICY = """**Examples**

    sallyport policy new labels/team --into my-rules

    sallyport policy lint my-rules

    sallyport policy test my-rules

    sallyport policy bench my-rules

    sallyport policy build --site my-rules --output my-bundle.tar.gz

**Exit codes**: 0 done; 1 something failed or was found; 2 the policies were
refused, or could not be judged; 64 wrong usage. Each command's --help says
more."""

BUILD = """**Examples**

    sallyport policy build

    sallyport policy build --opa ./opa --output builtin.tar.gz

    sallyport policy build --site my-rules --output my-bundle.tar.gz

    sallyport policy build --output my-bundle.tar.gz --signing-key my.key

    sallyport policy build --site my-rules --output my-bundle.tar.gz -o json

    sallyport run --bundle my-bundle.tar.gz

A folder of --site holds Rego in packages sallyport.rules.CATEGORY.NAME or
sallyport.sandbox.FAMILY.NAME, and helpers in site.NAME. Tests (NAME_test.rego)
stay out of the bundle. Cases go into it, and are judged wherever it is loaded.
--built-at says when it was built: control takes no older one by itself.

**Exit codes**: 0 built; 2 the policies were refused, or a case does not hold;
64 wrong usage, or no such folder."""

NEW = """**Examples**

    sallyport policy new labels/team --into my-rules

    sallyport policy new resources/set --field 'spec.containers[].resources'

    sallyport policy new services/class --kind Service --field spec.type

    sallyport policy new data/gpu --signal --into my-rules

    sallyport policy new labels/team --into my-rules -o json

It writes CATEGORY/NAME/: the rule, its Rego test, a case that is refused and
one that is admitted, and a page. It writes over nothing.

**Exit codes**: 0 written; 64 wrong usage, or something is there already."""

TEST = """**Examples**

    sallyport policy test my-rules

    sallyport policy test my-rules --rules rules.yaml --coverage-min 90

    sallyport policy test my-rules --watch

    sallyport policy test my-rules -o json

Rego tests (NAME_test.rego) are run by OPA and, compiled, by the embedded
engine. Cases (cases/NAME.yaml) are judged as the gate would, and both engines
are asked what was asked then.

**Exit codes**: 0 all passed; 1 something failed, or the engines differ; 2
something could not be judged, or the policies were refused; 64 wrong usage."""

BENCH = """**Examples**

    sallyport policy bench my-rules

    sallyport policy bench my-rules --rules rules.yaml

    sallyport policy bench my-rules -o json

    sallyport policy bench my-rules --most-share 30 --rounds 200

What is measured are the inputs of your cases and of example Pods, in pairs
with a rule that does nothing, whose time is subtracted.

**Exit codes**: 0 measured; 1 a rule takes more than its share, or grows faster
than the Pod; 2 the policies were refused; 64 wrong usage."""

LINT = """**Examples**

    sallyport policy lint my-rules

    sallyport policy lint my-rules --watch

    sallyport policy lint my-rules -o json

    sallyport policy lint my-rules -o lines

`opa fmt`, `opa check --strict` with the schemas of the input, regal if it is
on PATH, and Sallyport's own rules about what is undefined.

**Exit codes**: 0 nothing, or warnings alone; 1 errors were found; 2 it could
not be read; 64 wrong usage."""

SCHEMA = """**Examples**

    sallyport policy schema --output schema

    sallyport policy schema my-rules --output schema --example input.json

With folders, fields.json has the fields that their rules declare. Editors and
`opa check --schema schema` read them: docs/policies/editors.md.

**Exit codes**: 0 written; 2 the policies were refused; 64 wrong usage."""
