"""The command `sallyport findings`: what the auditor found in accesses to model weights."""
