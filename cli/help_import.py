"""The second half of the --help of `sallyport policy import`: examples, exit codes."""

IMPORT = """**Examples**

    sallyport policy import gatekeeper templates/ constraints/ --into my-rules

    sallyport policy import gatekeeper --help

**Exit codes**: 0 all was carried over; 1 something was refused; 2 it could
not be read; 64 wrong usage."""

GATEKEEPER = """**Examples**

    sallyport policy import gatekeeper templates/ constraints/ --into my-rules

    sallyport policy import gatekeeper all.yaml --into my-rules -o json

    sallyport policy import gatekeeper all.yaml --into my-rules --replace

    sallyport policy build --site my-rules --rules my-rules/rules.yaml \\
    --output my-bundle.tar.gz

Each Constraint becomes a rule gatekeeper/TEMPLATE_CONSTRAINT. A template that
reads other objects, the object as it was, or what no rule is shown is refused
by name. What was carried over is built once before it is written.

**Exit codes**: 0 all was carried over; 1 some was refused, the rest is
written; 2 a file cannot be read, or what was made is refused; 64 wrong usage,
or something would be written over."""
