"""Starts the real server with a small sample district, for a client suite to call."""

import contextlib
import json
import socket
import subprocess
import tempfile
import time
import urllib.request

START_SECONDS = 120
STUDENTS = 60


def free_port():
    """A port of this machine that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def demo(binary):
    """Runs `homeroom demo` in a folder of its own; gives what it prints (url, key, secret), that
    folder and the folder of the store."""
    with tempfile.TemporaryDirectory(prefix="homeroom-clients-") as folder:
        log = open(f"{folder}/log", "w+")
        process = subprocess.Popen(
            [
                binary, "demo", "--json",
                "--data-dir", f"{folder}/data",
                "--listen", f"127.0.0.1:{free_port()}",
                "--admin-listen", f"127.0.0.1:{free_port()}",
                "--students", str(STUDENTS),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            found = printed(process, log)
            wait_until_ready(found["url"], process, log)
            yield found | {"folder": folder, "data": f"{folder}/data"}
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            log.close()


def printed(process, log):
    """The JSON object that the server prints before it serves; it may span lines."""
    text = ""
    for line in process.stdout:
        text += line
        try:
            return json.loads(text)
        except ValueError:
            continue
    raise SystemExit(f"homeroom demo printed no JSON and ended\n{text}\n{tail(log)}")


def wait_until_ready(url, process, log):
    """Waits for /readyz."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"homeroom demo ended with {process.returncode}\n{tail(log)}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url.rstrip("/") + "/readyz", timeout=5)
            return
        time.sleep(0.05)
    raise SystemExit(f"homeroom demo was not ready in {START_SECONDS} s\n{tail(log)}")


def tail(log):
    """The last lines of the server's log."""
    log.flush()
    log.seek(0)
    return "".join(log.readlines()[-20:])
