"""ContainerProfiles.

The grammar of privileges, the kind itself, its defaults, and suggested profiles.
"""
