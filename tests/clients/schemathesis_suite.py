"""schemathesis reads our own OpenAPI documents, of the data API, of the Admin API and of the
gateway's management, and sends what they allow, and what they do not: no answer is a 5xx, each is as the document says, and nothing panics.

`./test` tries a sample of the resources, with HOMEROOM_LONG all of them. HOMEROOM_SEED (a number)
chooses another sample, and what is sent.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import urllib.request

import server
from checks import Checks

# Resources of a sample, and requests tried an operation.
RESOURCES = 4
EXAMPLES = 12
RESOURCES_LONG = 60  # of one run of schemathesis: a document with all of them takes it minutes to read
EXAMPLES_LONG = 30
SECONDS_MAX = 3_600

LEFT_OUT = [
    # A document that breaks no rule of the schema may still break one that OpenAPI cannot express:
    # a reference to what is not there, an optional reference that is null.
    "positive_data_acceptance",
    # More is taken than is promised, as clients of the ODS/API expect: a number for a text, a query
    # parameter without a value for none.
    "negative_data_rejection",
]

DOCUMENTS = ["resources", "descriptors"]


def main(binary):
    check = Checks()
    is_long = "HOMEROOM_LONG" in os.environ
    seed = int(os.environ.get("HOMEROOM_SEED", "1"))
    print(f"HOMEROOM_SEED={seed}")
    with server.demo(binary) as demo:
        token = authorize(demo)
        for name in DOCUMENTS:
            document = get(demo, f"/metadata/data/v3/{name}/swagger.json")
            endpoints = sorted({endpoint(path) for path in document["paths"]})
            random.Random(seed).shuffle(endpoints)
            size = RESOURCES_LONG if is_long else RESOURCES
            parts = [endpoints[at : at + size] for at in range(0, len(endpoints), size)]
            for number, part in enumerate(parts if is_long else parts[:1]):
                @check(f"schemathesis: {name}, part {number + 1}: {', '.join(part[:RESOURCES])}")
                def _():
                    run(demo, token, only(document, part), is_long, seed)

        @check("schemathesis: the Admin API")
        def _():
            document = get(demo, "/metadata/adminapi/v2/swagger.json")
            token = authorize(demo | admin_key(binary, demo))
            run(demo, token, document, is_long, seed)

        @check("schemathesis: the gateway's management")
        def _():
            document = get(demo, "/metadata/adminapi/gateway/v1/swagger.json")
            token = authorize(demo | admin_key(binary, demo))
            run(demo, token, document, is_long, seed)

        @check("schemathesis: nothing panicked and the server is ready")
        def _():
            log = pathlib.Path(demo["folder"], "log").read_text()
            bad = [line for line in log.splitlines() if "panicked" in line or "ERROR" in line]
            assert not bad, "\n".join(bad[:10])
            assert get(demo, "/readyz") == {"ready": True}
    check.end()


def endpoint(path):
    """`/ed-fi/students` of `/ed-fi/students/{id}`."""
    return "/".join(path.split("/")[:3])


def only(document, endpoints):
    """The document with the paths of these endpoints alone."""
    paths = {path: item for path, item in document["paths"].items() if endpoint(path) in endpoints}
    return document | {"paths": paths}


def get(demo, path):
    with urllib.request.urlopen(demo["url"].rstrip("/") + path, timeout=60) as answer:
        return json.load(answer)


def admin_key(binary, demo):
    """Makes a key that may manage; it cannot manage itself away."""
    made = subprocess.run(
        [binary, "keys", "create", "--scope", "admin", "--data-dir", demo["data"], "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def authorize(demo):
    asked = {
        "grant_type": "client_credentials",
        "client_id": demo["key"],
        "client_secret": demo["secret"],
    }
    request = urllib.request.Request(
        demo["url"].rstrip("/") + "/oauth/token",
        json.dumps(asked).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["access_token"]


def run(demo, token, document, is_long, seed, left_out=LEFT_OUT, examples=None, report=None):
    """Runs schemathesis on a document; its own words are the reason when it finds something."""
    more = ["--header", f"Authorization: Bearer {token}"] if token else []
    if left_out:
        more += ["--exclude-checks", ",".join(left_out)]
    if report:
        more += ["--report", "har", "--report-har-path", str(report)]
    examples = examples or (EXAMPLES_LONG if is_long else EXAMPLES)
    file = pathlib.Path(demo["folder"], "openapi.json")
    file.write_text(json.dumps(document))
    ended = subprocess.run(
        [
            str(pathlib.Path(sys.executable).with_name("schemathesis")), "run", str(file),
            "--url", document["servers"][0]["url"],
            *more,
            "--phases", "coverage,fuzzing",
            "--max-examples", str(examples),
            "--seed", str(seed),
            "--suppress-health-check", "all",
            "--warnings", "off",
            "--request-timeout", "30",
            "--no-color",
        ],
        capture_output=True,
        text=True,
        cwd=demo["folder"],
        timeout=SECONDS_MAX,
        env=os.environ | {"NO_COLOR": "1"},
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, f"exit code {ended.returncode}\n{said[-8_000:]}"


if __name__ == "__main__":
    main(sys.argv[1])
