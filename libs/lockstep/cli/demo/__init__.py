"""The demo: two apps, real input, and every answer worked out a second time."""
