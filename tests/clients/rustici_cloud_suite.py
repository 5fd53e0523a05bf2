"""rustici-software-cloud-v2 5.0.0 against the server: the calls of a learning platform."""

import io
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile

import rustici_software_cloud_v2 as cloud
from rustici_software_cloud_v2.rest import ApiException

import server
from checks import Checks, equal

MANIFEST = """<manifest identifier="m" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2">
<metadata><schemaversion>1.2</schemaversion></metadata>
<organizations default="o"><organization identifier="o"><title>A lesson</title>
<item identifier="one" identifierref="r"><title>One</title></item></organization></organizations>
<resources><resource identifier="r" type="webcontent" adlcp:scormtype="sco" href="a.html"/></resources>
</manifest>"""


def main(binary):
    check = Checks()
    with server.demo(binary) as demo:
        key = json.loads(subprocess.run(
            [binary, "keys", "create", "--scope", "learning", "--json", "--data-dir", demo["data"]],
            check=True, capture_output=True, text=True,
        ).stdout)
        for slash in ["", "/"]:
            configuration = cloud.Configuration()
            configuration.host = demo["url"].rstrip("/") + "/learning/api/v2" + slash
            configuration.username = key["key"]
            configuration.password = key["secret"]
            play(check, cloud.ApiClient(configuration), f"lesson{len(slash)}")
    check.end()


def package():
    """A course of one page."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("imsmanifest.xml", MANIFEST)
        archive.writestr("a.html", "<!doctype html><title>A</title>")
    return packed.getvalue()


def send(url, body):
    request = urllib.request.Request(url, data=json.dumps(body).encode(), method="POST")
    request.add_header("Content-Type", "text/plain")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def play(check, client, course):
    courses, registrations = cloud.CourseApi(client), cloud.RegistrationApi(client)
    registration = f"{course}-r"
    found = {}

    @check(f"rustici-software-cloud-v2: about and ping answer ({course})")
    def _():
        assert cloud.AboutApi(client).get_about().version
        assert cloud.PingApi(client).ping_app_id().api_message

    @check(f"rustici-software-cloud-v2: a course is imported by upload ({course})")
    def _():
        with tempfile.NamedTemporaryFile(suffix=".zip") as file:
            file.write(package())
            file.flush()
            job = courses.create_upload_and_import_course_job(
                course, may_create_new_version=True, file=file.name
            ).result
        until = time.monotonic() + 60
        while True:
            state = courses.get_import_job_status(job)
            if state.status != "RUNNING" or time.monotonic() > until:
                break
            time.sleep(0.1)
        equal(state.status, "COMPLETE")
        equal(state.import_result.course.id, course)
        equal(courses.get_course(course).course_learning_standard, "SCORM12")
        assert course in [one.id for one in courses.get_courses().courses]

    @check(f"rustici-software-cloud-v2: tags, title and configuration of a course ({course})")
    def _():
        courses.put_course_tags(course, cloud.TagListSchema(["b", "a"]))
        equal(courses.get_course_tags(course).tags, ["a", "b"])
        courses.set_course_title(course, cloud.TitleSchema("Renamed"))
        equal(courses.get_course(course).title, "Renamed")
        setting = cloud.SettingsIndividualSchema("PlayerCommCommitFrequency", "10000")
        courses.set_course_configuration(course, cloud.SettingsPostSchema([setting]))
        items = courses.get_course_configuration(course).setting_items
        by_id = {item.id: item for item in items}
        equal(by_id["PlayerCommCommitFrequency"].effective_value, "10000")

    @check(f"rustici-software-cloud-v2: a registration is made and launched ({course})")
    def _():
        learner = cloud.LearnerSchema(id="l-1", first_name="Ann", last_name="Lee")
        new = cloud.CreateRegistrationSchema(
            course_id=course, learner=learner, registration_id=registration
        )
        registrations.create_registration(new)
        registrations.get_registration(registration)
        asked = cloud.LaunchLinkRequestSchema(redirect_on_exit_url="https://lms.example.org/", expiry=600)
        link = registrations.build_registration_launch_link(registration, asked).launch_link
        with urllib.request.urlopen(link, timeout=10) as page:
            equal(page.status, 200)
        saved = send(link + "/results", {
            "sequence": 1, "exit": True, "final": True,
            "cmi": {"cmi.core.score.raw": "87", "cmi.core.lesson_status": "passed",
                    "cmi.core.session_time": "00:01:30", "cmi.suspend_data": "kept"},
        })
        equal(saved["sequence"], 1)

    @check(f"rustici-software-cloud-v2: the report has completion, score and run-time ({course})")
    def _():
        report = registrations.get_registration_progress(
            registration, include_child_results=True,
            include_interactions_and_objectives=True, include_runtime=True,
        )
        equal(report.registration_completion, "COMPLETED")
        equal(report.registration_success, "PASSED")
        equal(report.score.scaled, 87.0)
        equal(report.total_seconds_tracked, 90.0)
        one = report.activity_details.children[0]
        equal(one.runtime.suspend_data, "kept")
        listed = registrations.get_registrations(course_id=course).registrations
        equal([one.id for one in listed], [registration])
        history = registrations.get_registration_launch_history(registration).launch_history
        equal(len(history), 1)

    @check(f"rustici-software-cloud-v2: what is not there is an error with a message ({course})")
    def _():
        try:
            registrations.get_registration_progress("nobody")
        except ApiException as problem:
            equal(problem.status, 404)
            assert "nobody" in json.loads(problem.body)["message"]
        else:
            raise AssertionError("there is no such registration")

    @check(f"rustici-software-cloud-v2: a learner is erased, and a course deleted ({course})")
    def _():
        cloud.LearnerApi(client).delete_all_learner_data("l-1", "")
        equal(registrations.get_registrations(course_id=course).registrations, [])
        courses.delete_course(course)
        assert course not in [one.id for one in courses.get_courses().courses]


if __name__ == "__main__":
    main(sys.argv[1])
