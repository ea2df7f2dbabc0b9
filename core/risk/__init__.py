"""The risk of identities.

Its model, the snapshot in memory, its stored form, and the look-back document.
"""
