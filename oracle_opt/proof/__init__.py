"""Numbers that know their error, claims, and what a bound is made of."""
