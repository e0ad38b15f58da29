"""The five doors of the suite: strangers to each other, each a thin main on the frame."""
