"""Judges recorded reviews with another bundle: `sallyport policy replay`."""
