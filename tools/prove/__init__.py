"""Bounded proofs of policies: CBMC looks for calls whose answers break a claim."""
