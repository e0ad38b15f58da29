"""The aggregators of the language: running values that events enter and leave."""
