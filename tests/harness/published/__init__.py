"""What others publish and tests use: CRDs, schemas, manifests, each pinned."""
