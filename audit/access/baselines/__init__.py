"""Baselines, or what is usual for a principal: amounts by day, footprints, sizes of blobs."""
