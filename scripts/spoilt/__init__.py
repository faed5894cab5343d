"""Random spoilt data, and judges of what a site makes of them: see scripts/spoilt_data.py."""
