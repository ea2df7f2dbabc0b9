"""What is usual for somebody: amounts by day, footprints, sizes of blobs."""
