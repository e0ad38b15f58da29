"""The archive: what apps took in and gave out, kept as Delta tables behind their logs."""
