"""Mode shapes and matrices for other programs, and mode shapes of other programs to compare with."""
