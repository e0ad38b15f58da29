"""The signatures that come with Lockstep, a module per namespace; each has `EXTENSIONS`."""
