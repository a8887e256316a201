"""The backend of `torch.compile`: which calls a pass is used for."""
