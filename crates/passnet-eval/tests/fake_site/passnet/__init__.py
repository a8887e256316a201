"""A stand-in for the real package that needs no torch: its graphs return a copy of their first input."""
