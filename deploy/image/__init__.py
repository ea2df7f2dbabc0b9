"""Make Sallyport's container image, byte for byte the same from the same inputs.

    python -m deploy.image

writes `dist/sallyport-VERSION.oci.tar`, `dist/sbom.json` and, for those who have no Sallyport, the
verifier of exports, `dist/verify_export.py`, and prints the image's digest. The inputs are Debian's
packages of `debian.lock`, the wheels of `requirements/runtime.txt`, the rooms.
`docs/operate/image.md` says more.
"""
