"""A made-up month around two stores of weights, from which `sallyport run` shows a report."""
