"""Tries bundles out in a process of its own, so that reviews go on beside whatever they do."""
