"""The backend of `torch.compile`. It decides for which calls a pass is used."""
