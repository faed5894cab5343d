"""``pfedgp doctor``: finds out why two sides do not talk, and says it in a sentence with its remedy."""
