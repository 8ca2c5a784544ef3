"""python -m studies, and the console script frozen-motion."""

from __future__ import annotations

import errno
import os
import signal
import sys

from studies.cli.stopping import stoppable


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code.

    The imports take part of a second and are guarded too: Ctrl-C, SIGTERM and SIGHUP end in one
    line at any moment.
    """
    with stoppable(exits=arguments is None) as stop:
        try:
            # Dense kernels of this size lose more than they gain by threads on few cores; a value
            # the user has set stands. It must be in place before numpy is imported.
            os.environ.setdefault("OMP_NUM_THREADS", "1")
            # PETSc's own handler of SIGHUP would take the place of that of `stoppable`.
            options = os.environ.get("PETSC_OPTIONS", "")
            os.environ["PETSC_OPTIONS"] = f"{options} -no_signal_handler".strip()
            from studies.cli.commands import run_app

            try:
                return run_app(arguments)
            except OSError as fault:
                if fault.errno == errno.EIO and stop.terminal_is_gone():
                    # The write may fail before the signal comes; an ignored one does nothing.
                    signal.raise_signal(signal.SIGHUP)
                raise
        except KeyboardInterrupt:
            print(f"\nfrozen-motion: {stop.reason}; what was finished is kept", file=sys.stderr)
            # After a KeyboardInterrupt inside exec of a string (dataclasses, namedtuples), CPython
            # run with -m ends by SIGINT whatever the exit code; the next exec clears that.
            exec("pass")
            over_ranks = sys.modules.get("studies.cli.over_ranks")
            return stop.code if over_ranks is None else int(over_ranks.exit_code(stop.code))


if __name__ == "__main__":
    sys.exit(main())
