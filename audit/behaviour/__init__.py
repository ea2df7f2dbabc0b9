"""The habits of identities, learnt from recorded decisions, and acts that break with them."""
