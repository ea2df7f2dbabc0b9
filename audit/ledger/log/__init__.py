"""The Merkle log over what the ledger keeps (RFC 9162): leaves, signed tree heads, proofs."""
