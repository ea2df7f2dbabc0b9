"""The second half of the --help of `sallyport ledger`: examples of under 77 columns, exit codes."""

LEDGER = """**Examples**

    sallyport ledger verify export.jsonl.gz --anchor anchor.jsonl

    sallyport ledger export -o export.jsonl.gz

    sallyport ledger verify --help

**Exit codes**: 0 all is well; 1 something was tampered with; 2 it cannot be
told; 64 wrong usage. Each command's --help says more."""

VERIFY = """**Examples**

    sallyport ledger verify export.jsonl.gz --anchor anchor.jsonl

    sallyport ledger verify export.jsonl --head 512:9f86d081… --key key.pem

    sallyport ledger verify --ledger sqlite:///ledger.db --anchor anchor.jsonl

    sallyport ledger verify --proof proof.json --anchor anchor.jsonl -o json

An export is verified with nothing but this program; without one it is the
ledger of --ledger or ledger.url, whose rows are compared with the log too.
An anchor (a file, or a folder of its parts) must lie where whoever can write
the ledger cannot write. What is younger than it is counted, and not proven.

**Exit codes**: 0 nothing is wrong; 1 something is: the first bad record is
named; 2 it cannot be read; 64 wrong usage, or no such file."""

EXPORT = """**Examples**

    sallyport ledger export -o export.jsonl.gz

    sallyport ledger export --since 7d -o week.jsonl

    sallyport ledger export --since 2026-11-01T00:00:00Z -o november.jsonl.gz

All that was stored between --since and --until is in it, from one head to
another. Whoever verifies it names the same times. `.gz` packs it. The
records hold no secrets, but who did what: the file is yours alone.

**Exit codes**: 0 written; 2 the ledger does not answer, or the disk is full;
64 wrong usage."""

PROVE = """**Examples**

    sallyport ledger prove 01a1fe42-0ac4-7b5f-946c-9f0144aa65d3 > proof.json

    sallyport ledger prove --from 512 --to 1024 > proof.json

    sallyport ledger verify --proof proof.json --anchor anchor.jsonl

A proof holds the record, the signed head and the path between them (RFC
9162). With --from and --to: that one head continues the other.

**Exit codes**: 0 written; 2 there is no such record or head, or the ledger
does not answer; 64 wrong usage."""

HEADS = """**Examples**

    sallyport ledger heads

    sallyport ledger heads --limit 100 -o json

Note the last one elsewhere: `ledger verify --head SIZE:ROOT` demands it, also
when the anchor itself was cut short.

**Exit codes**: 0 listed; 2 the ledger does not answer; 64 wrong usage."""

KEY = """**Examples**

    sallyport ledger key > key.pem

    sallyport ledger key --config auditor.yaml -o json

It is the public half of ledger.signing_key, for `ledger verify --key`.

**Exit codes**: 0 printed; 2 the key cannot be read; 64 wrong usage."""
