"""h2spec, the conformance suite for HTTP/2 and HPACK, tries the real server.

It is a program in Go: `h2spec` where it is on the path, else it is built into `.venv` by the `go` that is
there. Without either there is nothing to check.
"""

import os
import pathlib
import re
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
}

# Cases that send a fault after the head of a request whose body has not ended. The server may have answered
# before the fault arrives; then the stream is closed (§8.1), and the fault is ignored (§5.1).
ANSWERED_BEFORE = {
    "Sends a second HEADERS frame without the END_STREAM flag",
    "Sends a HEADERS frame that contains a pseudo-header field as trailers",
    'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length',
    'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple DATA frames payload length',
    "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
    "closed: Sends a DATA frame after sending RST_STREAM frame",
    "closed: Sends a HEADERS frame after sending RST_STREAM frame",
}

# How h2spec writes the last frame of an answer: one that ends the stream, or a reset without an error after
# it, because nobody reads the rest of the body.
ANSWER = re.compile(r"(DATA|HEADERS) Frame \(.*flags:0x0[15],|RST_STREAM Frame \(")


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


def failure(case):
    """What the server did in a case that failed, as h2spec writes it; nothing where the case passed."""
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            return (found.text or "").strip().rsplit("\n", 1)[-1]
    return None


def allowed(case, found):
    """Whether RFC 9113 allows what was `found`."""
    return case in EITHER or case in ANSWERED_BEFORE and ANSWER.match(found) is not None


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
        failed = [(case, found) for case in cases if (found := failure(case)) is not None]
        unexplained = [
            f"{case.get('package')}: {case.get('classname')}: {found}"
            for case, found in failed
            if not allowed(case.get("classname"), found)
        ]

        @check(f"h2spec: {len(cases)} cases, {len(failed)} of which the RFC leaves open")
        def _():
            assert len(cases) >= CASES_MIN, len(cases)
            equal(unexplained, [])

    check.end()


if __name__ == "__main__":
    main()
