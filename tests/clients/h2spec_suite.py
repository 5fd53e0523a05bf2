"""h2spec, the conformance suite for HTTP/2 and HPACK, tries the real server.

It is a program in Go: `h2spec` where it is on the path, else it is built into `.venv` by the `go` that is
there. Without either there is nothing to check.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as xml

from checks import Checks, equal
from server import demo

MODULE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"
SECONDS_MAX = 300
CASES_MIN = 140

# Where h2spec allows one behaviour and RFC 9113 more than one.
EITHER = {
    "Sends invalid connection preface":
        "what is no preface is HTTP/1.1 on this port, and is answered with 400",
    "Sends a second HEADERS frame without the END_STREAM flag":
        "the answer does not depend on the body and has been sent (§8.1)",
    "Sends a HEADERS frame that contains a pseudo-header field as trailers":
        "the answer does not depend on the body and has been sent (§8.1)",
    'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length':
        "the answer does not depend on the body and has been sent (§8.1)",
    'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple DATA frames payload length':
        "the answer does not depend on the body and has been sent (§8.1)",
    "closed: Sends a DATA frame after sending RST_STREAM frame":
        "the answer may have been sent before the reset arrived (§5.1)",
    "closed: Sends a HEADERS frame after sending RST_STREAM frame":
        "the answer may have been sent before the reset arrived (§5.1)",
}  # fmt: skip


def program():
    """The path of h2spec, or nothing."""
    found = shutil.which("h2spec")
    go = shutil.which("go")
    if found or not go:
        return found
    folder = pathlib.Path(sys.executable).parent
    own = folder / "h2spec"
    if not own.exists():
        environment = os.environ | {"GOBIN": str(folder), "GOFLAGS": "-modcacherw"}
        subprocess.run([go, "install", MODULE], check=True, env=environment, timeout=SECONDS_MAX)
    return str(own)


def main():
    check = Checks()
    h2spec = program()
    if h2spec is None:
        print("neither h2spec nor go is here: nothing is checked")
        return
    with demo(sys.argv[1]) as place:
        report = pathlib.Path(place["folder"], "h2spec.xml")
        port = urllib.parse.urlsplit(place["url"]).port
        subprocess.run(
            [h2spec, "-h", "127.0.0.1", "-p", str(port), "-P", "/", "-o", "3", "-j", str(report)],
            capture_output=True,
            timeout=SECONDS_MAX,
        )
        cases = list(xml.parse(report).getroot().iter("testcase"))
        failed = [
            f"{case.get('package')}: {case.get('classname')}"
            for case in cases
            if case.find("failure") is not None or case.find("error") is not None
        ]
        unexplained = [what for what in failed if what.split(": ", 1)[1] not in EITHER]

        @check(f"h2spec: {len(cases)} cases, {len(failed)} of which the RFC leaves open")
        def _():
            assert len(cases) >= CASES_MIN, len(cases)
            equal(unexplained, [])

    check.end()


if __name__ == "__main__":
    main()
