"""The guides: each page's `sh` blocks are run in order, in one shell, and must give the `text` blocks.

A page is run as an ordinary user, in an empty folder, with the binary on the path and nothing else: what
it needs, it defines and starts itself. `…` in a `text` block stands for anything. A block without a `text`
block must succeed. Blocks of another kind are for the reader only.

A page without an `sh` block, and a page with indented commands, which are not run, is one of those that may
have them.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from checks import Checks

GUIDES = pathlib.Path(__file__).parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--- end of block: "
# The user `nobody` of Debian, as which the superuser runs the pages.
NOBODY = 65534
PAGE_SECONDS = 600
# Pages with nothing to run, and why.
WITHOUT_STEPS = {"overload": "it explains figures"}
# Pages with indented commands, and why they are not run.
INDENTED = {
    "backup-and-restore": "a database on another machine",
    "operations": "the superuser of a machine with systemd",
    "postgresql": "a database on another machine",
}
# A command is a lower-case word at the beginning of an indented block, after an empty line.
COMMAND = re.compile(r"\n\n    [a-z]+ ")
# Where Debian has PostgreSQL's programs.
POSTGRES = pathlib.Path("/usr/lib/postgresql")
# What a page needs besides curl: whether it is here, and its name.
NEEDS = {
    "postgresql": (lambda: any(POSTGRES.glob("*/bin/initdb")), "PostgreSQL"),
    "listening": (lambda: shutil.which("openssl") is not None, "openssl"),
}
# What a page has started runs until its shell is closed.
STOP = "kill $(jobs -p) 2> /dev/null; wait\n"


def main(binary):
    check = Checks()
    if shutil.which("curl") is None:
        print("skipped: guides: curl is not installed")
        check.end()
    with tempfile.TemporaryDirectory(prefix="homeroom-guides-") as folder:
        os.chmod(folder, 0o755)
        programs = pathlib.Path(folder) / "bin"
        programs.mkdir()
        # The folder in which it was built may be closed to others.
        shutil.copy(binary, programs / "homeroom")
        pages = sorted(GUIDES.glob("*.md"))

        @check("guides: pages with steps that are not run are known")
        def _():
            texts = {path.stem: path.read_text() for path in pages}
            assert {page for page in texts if not steps(texts[page])} == set(WITHOUT_STEPS)
            outside = {page: BLOCK.sub("", text) for page, text in texts.items()}
            assert {page for page in texts if COMMAND.search(outside[page])} == set(INDENTED)

        for path in pages:
            is_here, needed = NEEDS.get(path.stem, (lambda: True, None))
            if is_here():
                guide(check, path, programs)
            else:
                print(f"skipped: guide {path.stem}: {needed} is not installed")
    check.end()


def guide(check, path, programs):
    with_answers = steps(path.read_text())
    outputs = run([command for command, _ in with_answers], programs)
    for number, (command, answer) in enumerate(with_answers):
        @check(f"guide {path.stem}, step {number + 1}")
        def _():
            assert number < len(outputs), "the shell ended before"
            found, code = outputs[number]
            about = f"after\n{command}\nfound:\n{found}\nwith code {code}; wanted:\n{answer}"
            if answer is None:
                assert code == "0", about
            else:
                assert pattern(answer).fullmatch(found), about


def steps(text):
    """Each `sh` block with the `text` block after it, if there is one."""
    found = []
    for kind, inside in BLOCK.findall(text):
        if kind == "sh":
            found.append([inside, None])
        elif kind == "text" and found:
            found[-1][1] = inside.strip()
    return found


def pattern(answer):
    return re.compile(".*?".join(re.escape(part) for part in answer.split("…")), re.DOTALL)


def run(commands, programs):
    """What each command printed, complaints included, carriage returns left out, and its exit code."""
    blocks = (f"{command}\nprintf '%s\\n' \"{MARK}$?\"\n" for command in commands)
    with tempfile.TemporaryDirectory(prefix="homeroom-guide-") as folder:
        ordinary = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        if ordinary:
            os.chown(folder, NOBODY, NOBODY)
        shell = subprocess.Popen(
            ["bash", "-u"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": folder},
            cwd=folder,
            start_new_session=True,
            **ordinary,
        )
        try:
            script = "exec 2>&1\n" + "".join(blocks) + STOP
            printed, _ = shell.communicate(script, timeout=PAGE_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
            shell.wait()
    parts = re.split(re.escape(MARK) + r"(\d+)\n", printed.replace("\r", ""))
    return [(found.strip(), code) for found, code in zip(parts[0::2], parts[1::2])]


if __name__ == "__main__":
    main(sys.argv[1])
