"""Messages between the ranks of a run under mpiexec."""
