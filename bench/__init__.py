"""`make bench`: what a review costs, against OPA's server and a null handler in one run."""
