"""Kinds of answers that a cut may carry besides a value and a subgradient."""
