"""Servers of JSON lines that answer questions about graphs with PyTorch (`python -m passnet._services.NAME`)."""
