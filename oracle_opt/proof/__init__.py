"""What proofs are made of: numbers that know their rounding, or have none."""
