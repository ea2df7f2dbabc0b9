"""Whether Pods must run in a sandbox (gVisor or Kata), and in which."""
