"""Servers that answer requests about graphs with PyTorch, as JSON lines (`python -m passnet._services.NAME`)."""
