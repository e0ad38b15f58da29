"""The console: pages on which people write, try, deploy and watch apps. See DESIGN.md."""
