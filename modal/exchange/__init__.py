"""Mode shapes and matrices in files of other programs, and MAC."""
