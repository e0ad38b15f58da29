"""Folds input logs through apps; the leading replica publishes."""
