"""Make a release of Sallyport, byte for byte the same from the same commit.

    python -m deploy.release [--key FILE]

writes image, charts, command line, bill of materials, notes, provenance and checksums into
`dist/release/VERSION/`, and with a key signs them. `docs/operate/release.md` says more.
"""
