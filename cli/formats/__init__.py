"""The faces of a review: what `sallyport review -o` prints for whom."""
