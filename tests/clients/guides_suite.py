"""The guides: their `sh` blocks are run in order, in one shell, and must give the `text` blocks.

`…` in a `text` block stands for anything. Blocks of another kind are for the reader only.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import server
from checks import Checks

GUIDES = pathlib.Path(__file__).parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--- end of block ---"


def main(binary):
    check = Checks()
    if shutil.which("curl") is None:
        print("skipped: guides: curl is not installed")
        check.end()
    with server.demo(binary) as demo:
        for path in sorted(GUIDES.glob("*.md")):
            guide(check, path, demo, binary)
    check.end()


def guide(check, path, demo, binary):
    with_answers = steps(path.read_text())
    outputs = run([command for command, _ in with_answers], demo, binary)
    for number, (command, answer) in enumerate(with_answers):
        @check(f"guide {path.stem}, step {number + 1}")
        def _():
            assert number < len(outputs), "the shell ended before"
            found = outputs[number].strip()
            wanted = f"after\n{command}\nfound:\n{found}\nwanted:\n{answer}"
            assert pattern(answer).fullmatch(found), wanted


def steps(text):
    """Each `sh` block with the `text` block after it, if there is one."""
    found = []
    for kind, inside in BLOCK.findall(text):
        if kind == "sh":
            found.append([inside, "…"])
        elif kind == "text" and found:
            found[-1][1] = inside.strip()
    return found


def pattern(answer):
    return re.compile(".*?".join(re.escape(part) for part in answer.split("…")), re.DOTALL)


def run(commands, demo, binary):
    """What each command printed, complaints included, carriage returns left out."""
    script = "exec 2>&1\n" + "".join(f"{command}\nprintf '%s\\n' '{MARK}'\n" for command in commands)
    folder = pathlib.Path(binary).resolve().parent
    ran = subprocess.run(
        ["bash", "-u"],
        input=script,
        capture_output=True,
        text=True,
        timeout=600,
        env={
            "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
            "HOME": demo["folder"],
            "URL": demo["url"],
            "KEY": demo["key"],
            "SECRET": demo["secret"],
            "DATA": demo["data"],
            "TMP": demo["folder"],
        },
        cwd=demo["folder"],
    )
    return ran.stdout.replace("\r", "").split(MARK + "\n")[:-1]


if __name__ == "__main__":
    main(sys.argv[1])
