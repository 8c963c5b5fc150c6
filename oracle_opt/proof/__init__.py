"""Numbers of proofs, which know their rounding or have none."""
