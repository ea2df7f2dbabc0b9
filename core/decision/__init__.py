"""The types of one review.

The request, the Namespace's mode, the requester notes, the decision and its document.
"""
