"""Cases of reference values: their format, their questions, and the objects that they are about."""
