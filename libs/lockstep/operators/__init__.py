"""What each operator means: pure, snapshot-able, without I/O."""
