"""The command `sallyport support-bundle`: what a maintainer needs, without what is secret."""
