"""The second half of `sallyport report --help`, as `cli.help` has it of the other commands."""

REPORT = """**Examples**

    sallyport report

    sallyport report --sample

    sallyport report --period 2026-10 --format html,pdf,csv --to reports/

    sallyport report --since 2026-10-01 --until 2026-10-08 --store frontier

    sallyport report --period 2026-10 --names people.csv --format pdf

    sallyport report --period 2026-10 --fail-on high -o json

    sallyport report --period 2026-10 --verify --anchor /mnt/anchor/heads.jsonl

    sallyport report --period 2026-10 --publish --kubeconfig ~/.kube/config

Without a period it is the last whole month (UTC). Formats: html, pdf, csv (an
archive of tables), json, oscal, ocsf, sarif, openreports. The same ledger and
period give the same bytes. --names FILE is CSV: an id (oid:… or the bare object
id), a comma, a name; the report then says that it names people.
With --verify the whole ledger is verified against the anchors, as by the command
`ledger verify`, and the verdict stands on the first page.
Without --ledger it is that of the setting ledger.url, else what `run` keeps.
Where that has several clusters, --cluster-id names the one that it is of.

**Exit codes**: 0 made; 1 made, and it has findings as grave as --fail-on, or
--verify found the ledger not sound; 2 the ledger or cluster does not answer, or
PDF needs Pango; 64 wrong usage."""
