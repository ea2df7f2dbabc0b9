"""Manifests: files, folders and streams of YAML or JSON."""
