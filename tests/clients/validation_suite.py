"""A published API that checks requests by its OpenAPI document, before a server that checks them for itself by another
library. schemathesis sends what the document allows and what it does not: what is refused never reaches the server,
what reaches it is valid, and what is valid is not refused.

HOMEROOM_SEED (a number) chooses what is sent.
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.parse
from http.cookies import SimpleCookie

import jsonschema
import schemathesis_suite as suite
import server
from checks import Checks

EXAMPLES = 40
EXAMPLES_LONG = 400
CASE = "X-Schemathesis-TestCaseId"

THING = {
    "type": "object",
    "required": ["name", "size"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "size": {"type": "integer", "minimum": 0, "exclusiveMaximum": 100},
        "share": {"type": "number", "minimum": 0.1, "exclusiveMaximum": 100},
        "kind": {"enum": ["a", "b", 3]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,4}$"},
        "parts": {
            "type": "array",
            "maxItems": 3,
            "uniqueItems": True,
            "items": {"$ref": "#/components/schemas/Part"},
        },
        "either": {
            "oneOf": [
                {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}},
                {"type": "boolean"},
            ]
        },
        "notes": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    },
}
PART = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer", "multipleOf": 5}, "on": {"type": "boolean"}},
}
# Others are not allowed: a member of a form that is there twice is refused even where nothing is said of it.
FORM = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 10},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    },
}


def parameter(name, place, schema, required=False, **more):
    return {"name": name, "in": place, "required": required or place == "path", "schema": schema} | more


def answers():
    return {
        "200": {"description": "it has passed", "content": {"application/json": {}}},
        "400": {"description": "it is not as the document says"},
        "404": {"description": "there is no such path"},
        "405": {"description": "there is no such method"},
        "415": {"description": "it is of another media type"},
    }


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "things", "version": "1"},
    "components": {"schemas": {"Thing": THING, "Part": PART}},
    "paths": {
        "/things/{id}": {
            "parameters": [parameter("id", "path", {"type": "integer", "minimum": 1, "maximum": 999})],
            "get": {
                "parameters": [
                    parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 50}),
                    parameter("mode", "query", {"type": "string", "enum": ["all", "some"]}, True),
                    parameter(
                        "ids", "query",
                        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
                        style="form", explode=True,
                    ),
                    parameter(
                        "near", "query",
                        {"type": "array", "items": {"type": "number", "minimum": -90.5, "maximum": 90.5}, "minItems": 2, "maxItems": 2},
                        style="form", explode=False,
                    ),
                    parameter("X-Level", "header", {"type": "integer", "minimum": 0, "maximum": 9}, True),
                    parameter("session", "cookie", {"type": "string", "pattern": "^[a-z]{3,8}$"}),
                ],
                "responses": answers(),
            },
            "put": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
                },
                "responses": answers(),
            },
        },
        "/kinds/{kind}": {
            "get": {
                "parameters": [parameter("kind", "path", {"type": "string", "enum": ["red", "blue"]})],
                "responses": answers(),
            },
        },
        "/forms": {
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/x-www-form-urlencoded": {"schema": FORM}},
                },
                "responses": answers(),
            },
        },
    },
}


def resolved(schema):
    """The schema with the document's definitions at hand."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]} | schema


def typed(text, schema):
    """A text as the type that a schema asks for; the text where it is none of that type."""
    kind = schema.get("type")
    try:
        if kind in ("integer", "number"):
            value = json.loads(text)
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else text
        if kind == "boolean":
            return {"true": True, "false": False}.get(text, text)
    except ValueError:
        pass
    return text


def faults(schema, value):
    found = jsonschema.Draft202012Validator(resolved(schema)).iter_errors(value)
    return [f"{value!r}: {fault.message}" for fault in found]


class Asked:
    """A request as it has arrived, which is read by the document alone."""

    def __init__(self, method, target, headers, body):
        url = urllib.parse.urlsplit(target)
        self.method, self.path, self.headers, self.body = method.lower(), url.path, headers, body
        self.query = urllib.parse.parse_qs(url.query, keep_blank_values=True)

    def faults(self):
        for template, item in DOCUMENT["paths"].items():
            placeholders = self.match(template)
            if placeholders is None:
                continue
            operation = item.get(self.method)
            if operation is None:
                return [f"no operation {self.method} {template}"]
            found = []
            for stated in item.get("parameters", []) + operation.get("parameters", []):
                found += self.parameter(stated, placeholders)
            return found + self.content(operation.get("requestBody"))
        return [f"no path {self.path}"]

    def match(self, template):
        wanted, sent = template.split("/"), self.path.split("/")
        if len(wanted) != len(sent):
            return None
        placeholders = {}
        for name, text in zip(wanted, sent):
            if name.startswith("{"):
                placeholders[name[1:-1]] = urllib.parse.unquote(text)
            elif name != text:
                return None
        return placeholders

    def parameter(self, stated, placeholders):
        name, schema = stated["name"], stated["schema"]
        if stated["in"] == "query":
            sent = self.query.get(name)
            if sent and schema["type"] == "array" and not stated.get("explode", True):
                sent = sent[0].split(",") if len(sent) == 1 else sent
        elif stated["in"] == "path":
            sent = [placeholders[name]]
        elif stated["in"] == "header":
            sent = self.headers.get_all(name)
        else:
            cookies = SimpleCookie(self.headers.get("cookie", ""))
            sent = [cookies[name].value] if name in cookies else None
        if not sent:
            return [f"no {name}"] if stated["required"] else []
        if schema["type"] == "array":
            value = [typed(text, schema["items"]) for text in sent]
        else:
            if len(sent) > 1:
                return [f"{name} is there {len(sent)} times"]
            value = typed(sent[0], schema)
        return [f"{name}: {fault}" for fault in faults(schema, value)]

    def content(self, stated):
        if stated is None:
            return []
        (media, content), = stated["content"].items()
        sent = self.headers.get_content_type() if self.headers.get("content-type") else ""
        if sent != media:
            return [f"the media type {sent}"]
        schema = content["schema"]
        try:
            if media == "application/json":
                return faults(schema, json.loads(self.body))
            pairs = urllib.parse.parse_qs(self.body.decode(), keep_blank_values=True)
            value = {
                name: typed(texts[0], schema["properties"].get(name, {})) if len(texts) == 1 else texts
                for name, texts in pairs.items()
            }
            return faults(schema, value)
        except ValueError as fault:
            return [f"the body: {fault}"]


class Echo:
    """A server that answers everything, and keeps what it should not have got and who has asked."""

    def __init__(self):
        self.wrong, self.arrived = [], set()
        echo = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                asked = Asked(self.command, self.path, self.headers, body)
                echo.arrived.add(self.headers.get(CASE))
                found = asked.faults()
                if found:
                    echo.wrong.append(f"{self.command} {self.path} {dict(self.headers)} {body[:300]!r}: {found}")
                text = json.dumps({"valid": not found}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            def log_message(self, *_):
                pass

        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"]:
            setattr(Handler, f"do_{method}", Handler.answer)
        listening = http.server.ThreadingHTTPServer(("127.0.0.1", server.free_port()), Handler)
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{listening.server_port}"


def publish(binary, demo, echo):
    folder = pathlib.Path(demo["folder"])
    (folder / "things.json").write_text(json.dumps(DOCUMENT))
    (folder / "apis.toml").write_text(
        "[[apis]]\nname = 'things'\ncontext = 'things'\nversion = 'v1'\nsecurity = 'none'\n"
        f"upstream = ['{echo.url}']\nopenapi = 'things.json'\nvalidate = true\n"
    )
    command = [binary, "gateway", "apply", str(folder / "apis.toml"), "--data-dir", demo["data"]]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def main(binary):
    check = Checks()
    is_long = "HOMEROOM_LONG" in os.environ
    seed = int(os.environ.get("HOMEROOM_SEED", "1"))
    print(f"HOMEROOM_SEED={seed}")
    with server.demo(binary) as demo:
        echo = Echo()
        publish(binary, demo, echo)
        base = demo["url"].rstrip("/") + "/apis/things/v1"
        report = pathlib.Path(demo["folder"], "report.har")

        @check("schemathesis: a validated API accepts what its document allows and refuses the rest")
        def _():
            suite.run(
                demo, None, DOCUMENT | {"servers": [{"url": base}]}, is_long, seed,
                left_out=[], examples=EXAMPLES_LONG if is_long else EXAMPLES, report=report,
            )

        @check("jsonschema: all that has reached the server behind it is valid")
        def _():
            assert len(echo.arrived) > 50, f"{len(echo.arrived)} requests have arrived"
            assert not echo.wrong, f"{len(echo.wrong)}: " + "\n".join(echo.wrong[:5])

        @check("schemathesis: nothing that was refused has reached it")
        def _():
            entries = json.loads(report.read_text())["log"]["entries"]
            refused = [entry for entry in entries if 400 <= entry["response"]["status"] < 500]
            assert len(refused) > 50, f"{len(refused)} were refused of {len(entries)}"
            for entry in refused:
                names = {header["name"].lower(): header["value"] for header in entry["request"]["headers"]}
                case = names[CASE.lower()]
                assert case not in echo.arrived, f"{entry['request']['method']} {entry['request']['url']}"

    check.end()


if __name__ == "__main__":
    main(sys.argv[1])
