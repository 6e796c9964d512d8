"""Fails before it has trained a step."""
raise SystemExit("FileNotFoundError: data/train.h5")
