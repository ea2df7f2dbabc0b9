"""One review.

The request, the Namespace's mode, the decision, and the document that is kept of it.
"""
