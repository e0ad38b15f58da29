"""What was folded on its way into the output log, and what others have put there."""
