"""Counts checks: one line each, `passed: WHAT` or `failed: WHAT`, which the test runner adds up."""

import sys
import traceback


class Checks:
    """The checks of one suite."""

    def __init__(self):
        self.failed = 0

    def __call__(self, what):
        """Runs the decorated function at once; it fails when it raises."""

        def run(check):
            try:
                check()
            except (Exception, SystemExit) as problem:
                self.failed += 1
                if not isinstance(problem, AssertionError):
                    traceback.print_exc(file=sys.stdout)
                print(f"failed: {what}: {problem}", flush=True)
            else:
                print(f"passed: {what}", flush=True)

        return run

    def end(self):
        """Ends the program."""
        sys.exit(1 if self.failed else 0)


def equal(found, wanted):
    """Fails and says what was found where it is not what was wanted."""
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"
