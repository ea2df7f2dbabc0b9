"""Lists and watches of one kind.

The protocol, objects kept in memory by a list and a watch, and a stream of changes.
"""
