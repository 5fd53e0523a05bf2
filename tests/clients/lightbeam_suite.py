"""lightbeam 0.1.12 against the server: what districts that send JSONL do."""

import json
import pathlib
import subprocess
import sys
import tempfile

import server
from checks import Checks, equal

CONFIG = """\
data_dir: {folder}/data
state_dir: {folder}/state
force_delete: True
edfi_api:
  base_url: {url}
  version: 3
  mode: shared_instance
  client_id: {key}
  client_secret: {secret}
connection:
  pool_size: 8
  timeout: 60
  num_retries: 3
  backoff_factor: 1.5
  retry_statuses: [429, 500, 501, 503, 504]
  verify_ssl: True
fetch:
  page_size: 2
"""

NAMESPACE = "uri://lightbeam.example"


def descriptor(kind, code):
    return {"namespace": f"{NAMESPACE}/{kind}", "codeValue": code, "shortDescription": code}


def uri(kind, code):
    return f"{NAMESPACE}/{kind}#{code}"


SCHOOLS = [990001, 990002]
STUDENTS = [f"lightbeam-{number}" for number in range(5)]
DATA = {
    "educationOrganizationCategoryDescriptors": [
        descriptor("EducationOrganizationCategoryDescriptor", "School")
    ],
    "gradeLevelDescriptors": [
        descriptor("GradeLevelDescriptor", "Third"),
        descriptor("GradeLevelDescriptor", "Fourth"),
    ],
    "schools": [
        {
            "schoolId": school,
            "nameOfInstitution": f"School {school}",
            "educationOrganizationCategories": [
                {
                    "educationOrganizationCategoryDescriptor": uri(
                        "EducationOrganizationCategoryDescriptor", "School"
                    )
                }
            ],
            "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Third")}],
        }
        for school in SCHOOLS
    ],
    "students": [
        {
            "studentUniqueId": student,
            "firstName": "First",
            "lastSurname": student,
            "birthDate": "2015-05-05",
        }
        for student in STUDENTS
    ],
    "studentSchoolAssociations": [
        {
            "studentReference": {"studentUniqueId": student},
            "schoolReference": {"schoolId": SCHOOLS[number % 2]},
            "entryDate": "2025-08-18",
            "entryGradeLevelDescriptor": uri("GradeLevelDescriptor", "Third"),
        }
        for number, student in enumerate(STUDENTS)
    ],
}
RECORDS = sum(len(records) for records in DATA.values())
SELECTED = ",".join(DATA)


class Lightbeam:
    """The program, with a configuration and data in a folder of its own."""

    def __init__(self, demo, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "data").mkdir()
        (self.folder / "lightbeam.yaml").write_text(CONFIG.format(folder=folder, **demo))
        self.runs = 0

    def write(self, data):
        for path in (self.folder / "data").iterdir():
            path.unlink()
        for name, records in data.items():
            lines = "".join(json.dumps(record) + "\n" for record in records)
            (self.folder / "data" / f"{name}.jsonl").write_text(lines)

    def data(self, name):
        lines = (self.folder / "data" / f"{name}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def run(self, command, *options, selector=SELECTED):
        """Runs a command; gives its exit code, what it printed, its results file as text."""
        self.runs += 1
        results = self.folder / f"results-{self.runs}"
        ran = subprocess.run(
            [
                sys.executable, "-m", "lightbeam", command,
                "-c", str(self.folder / "lightbeam.yaml"),
                "-s", selector,
                "--results-file", str(results),
                *options,
            ],
            capture_output=True,
            text=True,
            timeout=600,
        )
        said = ran.stdout + ran.stderr
        return ran.returncode, said, results.read_text() if results.exists() else ""


def main(binary):
    check = Checks()
    with server.demo(binary) as demo, tempfile.TemporaryDirectory() as folder:
        lightbeam = Lightbeam({key: demo[key] for key in ("url", "key", "secret")}, folder)
        validate(check, lightbeam)
        send(check, lightbeam)
        read(check, lightbeam)
        delete(check, lightbeam)
    check.end()


def validate(check, lightbeam):
    @check("lightbeam: validate accepts good data by schema, descriptors and uniqueness")
    def _():
        lightbeam.write(DATA)
        code, said, results = lightbeam.run("validate")
        assert code == 0 and results, said
        found = json.loads(results)
        equal((found["total_records_processed"], found["total_records_failed"]), (RECORDS, 0))

    @check("lightbeam: validate finds a bad type, a bad descriptor and a duplicate")
    def _():
        wrong_type = DATA["schools"][0] | {"schoolId": "one"}
        unknown = DATA["schools"][1] | {
            "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Hundredth")}]
        }
        lightbeam.write(DATA | {"schools": [wrong_type, unknown] + [DATA["schools"][0]] * 2})
        code, said, results = lightbeam.run("validate", selector="schools")
        assert code == 0 and results, said
        failures = json.loads(results)["resources"]["schools"]["failures"]
        equal(
            [(failure["method"], failure["line_numbers"]) for failure in failures],
            [("schema", [1]), ("descriptors", [2]), ("uniqueness", [4])],
        )

    @check("lightbeam: validate resolves references on the server")
    def _():
        lightbeam.write({"studentSchoolAssociations": DATA["studentSchoolAssociations"]})
        code, said, results = lightbeam.run(
            "validate", "--set", "validate.methods", "references",
            selector="studentSchoolAssociations",
        )
        assert "references" in results, said
        equal(json.loads(results)["total_records_failed"], len(STUDENTS))


def send(check, lightbeam):
    def statuses(results, name):
        successes = json.loads(results)["resources"][name].get("successes", [])
        return {success["status_code"]: success["count"] for success in successes}

    @check("lightbeam: send creates every record, in dependency order")
    def _():
        lightbeam.write(DATA)
        code, said, results = lightbeam.run("send")
        assert code == 0 and results, said
        equal(json.loads(results)["total_records_failed"], 0)
        for name, records in DATA.items():
            equal(statuses(results, name), {201: len(records)})

    @check("lightbeam: send skips what it has sent")
    def _():
        code, said, _ = lightbeam.run("send")
        equal(code, 99)
        assert "all payloads skipped" in said, said

    @check("lightbeam: send with --force answers 200 for what is there")
    def _():
        code, said, results = lightbeam.run("send", "--force")
        assert code == 0 and results, said
        for name, records in DATA.items():
            equal(statuses(results, name), {200: len(records)})

    @check("lightbeam: send counts a dangling reference as failed")
    def _():
        dangling = DATA["studentSchoolAssociations"][0] | {
            "schoolReference": {"schoolId": 990099}
        }
        good = DATA["studentSchoolAssociations"][1:2]
        lightbeam.write({"studentSchoolAssociations": good + [dangling]})
        _, said, results = lightbeam.run("send", "--force", selector="studentSchoolAssociations")
        assert results, said
        found = json.loads(results)["resources"]["studentSchoolAssociations"]
        equal((found["records_processed"], found["records_failed"]), (2, 1))
        assert "409: 1" in said, said


def read(check, lightbeam):
    @check("lightbeam: validate finds nothing wrong with references that are there")
    def _():
        lightbeam.write({"studentSchoolAssociations": DATA["studentSchoolAssociations"]})
        _, said, results = lightbeam.run(
            "validate", "--set", "validate.methods", "references",
            selector="studentSchoolAssociations",
        )
        assert results, said
        equal(json.loads(results)["total_records_failed"], 0)

    @check("lightbeam: count gives the records of each resource")
    def _():
        code, said, results = lightbeam.run("count", selector="students,schools")
        equal(code, 0)
        counts = dict(reversed(line.split("\t")) for line in results.splitlines()[1:])
        assert int(counts["students"]) >= len(STUDENTS) + server.STUDENTS, counts
        assert int(counts["schools"]) > len(SCHOOLS), counts

    @check("lightbeam: fetch brings back every page of what was sent")
    def _():
        lightbeam.write({})
        code, said, _ = lightbeam.run(
            "fetch", "-d", "id,_etag,_lastModifiedDate", selector="gradeLevelDescriptors,schools"
        )
        equal(code, 0)
        for name in ("gradeLevelDescriptors", "schools"):
            found = lightbeam.data(name)
            for sent in DATA[name]:
                # The program gives every row the members of the page's first one.
                assert any(all(row.get(key) == sent[key] for key in sent) for row in found), (sent, found)

    @check("lightbeam: fetch with a query brings back what it asks for")
    def _():
        lightbeam.write({})
        code, said, _ = lightbeam.run(
            "fetch", "-q", json.dumps({"lastSurname": STUDENTS[3]}), selector="students"
        )
        equal(code, 0)
        equal([found["studentUniqueId"] for found in lightbeam.data("students")], [STUDENTS[3]])


def left(lightbeam):
    """What is still there of what was sent."""
    lightbeam.write({})
    found = {}
    for name, key in (("students", "studentUniqueId"), ("schools", "schoolId")):
        lightbeam.run("fetch", selector=name)
        ours = {record[key] for record in DATA[name]}
        found[name] = [row[key] for row in lightbeam.data(name) if row[key] in ours]
    return found


def delete(check, lightbeam):
    @check("lightbeam: delete finds every record by its natural key and deletes it")
    def _():
        lightbeam.write(DATA)
        code, said, _ = lightbeam.run("delete", "--force")
        assert code == 0, said
        equal(said.count("{204: "), 2 * len(DATA))
        equal(left(lightbeam), {"students": [], "schools": []})


if __name__ == "__main__":
    main(sys.argv[1])
