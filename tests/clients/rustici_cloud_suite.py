"""rustici-software-cloud-v2 5.0.0 against the server: the calls of a learning platform."""

import http.server
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
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
    # The receiver of postbacks is on this machine.
    os.environ["HOMEROOM_COURSES__PRIVATE_ADDRESSES"] = "true"
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
            client = cloud.ApiClient(configuration)
            play(check, client, f"lesson{len(slash)}")
            publish(check, client, f"golf{len(slash)}")
    check.end()


def package():
    """A course of one page."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("imsmanifest.xml", MANIFEST)
        archive.writestr("a.html", "<!doctype html><title>A</title>")
    return packed.getvalue()


def add(courses, course):
    """Imports the course, or a new version of it; returns how that has ended."""
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
            return state
        time.sleep(0.1)


def refused(status, ask):
    """Fails unless a call is refused with a status and a message."""
    try:
        ask()
    except ApiException as problem:
        equal(problem.status, status)
        assert json.loads(problem.body)["message"]
    else:
        raise AssertionError(f"wanted {status}")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted to it: headers and body."""

    posted = []

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        Receiver.posted.append((self.headers, self.rfile.read(length).decode()))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


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
        state = add(courses, course)
        equal(state.status, "COMPLETE")
        equal(state.import_result.course.id, course)
        equal(courses.get_course(course).course_learning_standard, "SCORM12")
        assert course in [one.id for one in courses.get_courses().courses]

    @check(f"rustici-software-cloud-v2: tags, title and configuration of a course ({course})")
    def _():
        courses.put_course_tags(course, cloud.TagListSchema(["b", "a"]))
        courses.put_course_tags(course, cloud.TagListSchema(["c"]))
        courses.put_course_tags_batch(cloud.BatchTagsSchema([course], ["d"]))
        courses.delete_course_tags(course, cloud.TagListSchema(["b", "z"]))
        equal(courses.get_course_tags(course).tags, ["a", "c", "d"])
        batch = cloud.BatchTagsSchema([course, "nowhere"], ["e"])
        refused(404, lambda: courses.put_course_tags_batch(batch))
        equal(courses.get_course_tags(course).tags, ["a", "c", "d"])
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
        refused(404, lambda: registrations.get_registration_progress("nobody"))

    @check(f"rustici-software-cloud-v2: a learner is erased, and a course deleted ({course})")
    def _():
        # The second argument is the address of the person who asks.
        cloud.LearnerApi(client).delete_all_learner_data("l-1", "admin@example.org")
        equal(registrations.get_registrations(course_id=course).registrations, [])
        courses.delete_course(course)
        assert course not in [one.id for one in courses.get_courses().courses]


def publish(check, client, course):
    """What a publisher and an administrator do: many learners, versions, instances, assets, postbacks."""
    courses, registrations = cloud.CourseApi(client), cloud.RegistrationApi(client)
    learners = cloud.LearnerApi(client)

    def register(name, learner, **others):
        registrations.create_registration(cloud.CreateRegistrationSchema(
            course_id=course, learner=learner, registration_id=f"{course}-{name}", **others
        ))

    @check(f"rustici-software-cloud-v2: more keeps the filters and the order ({course})")
    def _():
        equal(add(courses, course).status, "COMPLETE")
        for number in range(205):
            learner = cloud.LearnerSchema(
                id=f"{course}-l{number}", first_name=f"Ann{number % 2}", last_name=f"L{999 - number}"
            )
            tag = ["even"] if number % 2 == 0 else ["odd"]
            register(f"{number:03}", learner, registration_tags=tag)
        page, _, headers = registrations.get_registrations_with_http_info(
            course_id=course, tags=["even"], order_by="learner_last_name_asc",
            include_child_results=True, include_total_count=True,
        )
        equal(headers["X-Total-Count"], "103")
        found = list(page.registrations)
        while page.more:
            page = registrations.get_registrations(more=page.more)
            found += page.registrations
        equal(len(found), 103)
        assert all(one.tags == ["even"] for one in found)
        assert all(one.activity_details.children for one in found)
        names = [one.learner.last_name for one in found]
        equal(names, sorted(names))

    @check(f"rustici-software-cloud-v2: lists are filtered by fields, and refuse others ({course})")
    def _():
        found = registrations.get_registrations(
            course_id=course, filter_by="learner_last_name", filter="L999"
        ).registrations
        equal([one.id for one in found], [f"{course}-000"])
        newest = registrations.get_registrations(course_id=course).registrations[0]
        equal(newest.id, f"{course}-204")
        for wrong in [{"order_by": "x"}, {"filter_by": "x"}, {"datetime_filter": "x"}]:
            refused(400, lambda: registrations.get_registrations(**wrong))
            refused(400, lambda: courses.get_courses(**wrong))
        titles = [one.title for one in courses.get_courses(order_by="title_desc").courses]
        equal(titles, sorted(titles, reverse=True, key=str.lower))

    @check(f"rustici-software-cloud-v2: a learner keeps the name, and has the tags ({course})")
    def _():
        register("again", cloud.LearnerSchema(id=f"{course}-l0"), learner_tags=["one"])
        register("more", cloud.LearnerSchema(id=f"{course}-l0"), learner_tags=["two"])
        known = registrations.get_registration_progress(f"{course}-again").learner
        equal((known.first_name, known.last_name), ("Ann0", "L999"))
        equal(learners.get_learner_tags(f"{course}-l0").tags, ["one", "two"])

    @check(f"rustici-software-cloud-v2: userEmail is the address of who asks ({course})")
    def _():
        admin = cloud.LearnerSchema(id=f"{course}-admin", email="admin@example.org")
        register("admin", admin)
        learners.delete_all_learner_data(f"{course}-l1", "admin@example.org")
        refused(404, lambda: registrations.get_registration_progress(f"{course}-001"))
        kept = registrations.get_registration_progress(f"{course}-admin")
        equal(kept.learner.email, "admin@example.org")

    @check(f"rustici-software-cloud-v2: versions, and instances of them ({course})")
    def _():
        equal(add(courses, course).import_result.course.version, 1)
        name = f"{course}-002"
        registrations.create_new_registration_instance(name)
        found = registrations.get_registration_instances(name).registrations
        equal([(one.instance, one.course.version) for one in found], [(0, 0), (1, 1)])
        early = registrations.get_registration_instances(name, until="2020-01-01T00:00:00Z")
        equal(early.registrations, [])
        refused(409, lambda: courses.delete_course_version(course, 1))
        registrations.delete_registration_instance(name, 1)
        equal(registrations.get_registration_progress(name).instance, 0)
        courses.delete_course_version(course, 1)
        equal(add(courses, course).import_result.course.version, 2)
        equal([one.version for one in courses.get_course_versions(course).courses], [0, 2])
        late = courses.get_course_versions(course, since="2200-01-01T00:00:00Z")
        equal(late.courses, [])
        registrations.delete_registration_instance(name, 0)
        refused(404, lambda: registrations.get_registration_progress(name))

    @check(f"rustici-software-cloud-v2: an asset has the path of its destination ({course})")
    def _():
        with tempfile.NamedTemporaryFile(suffix=".html") as file:
            file.write(b"<p>hello")
            file.flush()
            stored = courses.upload_course_asset_file(
                course, "/Etiquette/Course.html", file=file.name, update_asset_policy="lax"
            )
            equal(stored.filename, "Course.html")
            refused(409, lambda: courses.upload_course_asset_file(
                course, "/Etiquette/Course.html", file=file.name, update_asset_policy="reject"
            ))
        paths = [one.path for one in courses.get_course_file_list(course).files]
        assert "Etiquette/Course.html" in paths, paths
        courses.delete_course_asset(course, "Etiquette/Course.html")
        paths = [one.path for one in courses.get_course_file_list(course).files]
        assert "Etiquette/Course.html" not in paths, paths

    @check(f"rustici-software-cloud-v2: results are posted as a form with a user name ({course})")
    def _():
        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        Receiver.posted.clear()
        post_back = cloud.PostBackSchema(
            url=f"http://127.0.0.1:{receiver.server_port}/", auth_type="FORM", user_name="lms",
            password="p&q", results_format="FULL",
        )
        try:
            registrations.test_registration_postback(post_back)
            register("told", cloud.LearnerSchema(id=f"{course}-told"), post_back=post_back)
            asked = cloud.LaunchLinkRequestSchema(redirect_on_exit_url="closer")
            link = registrations.build_registration_launch_link(f"{course}-told", asked).launch_link
            send(link + "/results", {
                "sequence": 1, "exit": True, "final": True,
                "cmi": {"cmi.core.lesson_status": "passed"},
            })
            until = time.monotonic() + 60
            while len(Receiver.posted) < 2 and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            receiver.shutdown()
        assert len(Receiver.posted) >= 2, Receiver.posted
        for headers, body in Receiver.posted[:2]:
            equal(headers.get_content_type(), "application/x-www-form-urlencoded")
            fields = urllib.parse.parse_qs(body)
            equal((fields["username"], fields["password"]), (["lms"], ["p&q"]))
        told = json.loads(urllib.parse.parse_qs(Receiver.posted[1][1])["data"][0])
        equal((told["id"], told["registrationCompletion"]), (f"{course}-told", "COMPLETED"))

    @check(f"rustici-software-cloud-v2: settings of other servers are kept ({course})")
    def _():
        management = cloud.ApplicationManagementApi(client)
        setting = cloud.SettingsIndividualSchema("PlayerShowNavBar", "true")
        posted = cloud.SettingsPostSchema([setting])
        management.set_application_configuration(posted, learning_standard="AICC", single_sco=True)
        items = management.get_application_configuration(
            learning_standard="AICC", single_sco=True, include_metadata=True
        ).setting_items
        found = {item.id: item for item in items}["PlayerShowNavBar"]
        equal(found.explicit_value, "true")
        assert "no effect" in found.metadata.setting_description
        courses.delete_course(course)


if __name__ == "__main__":
    main(sys.argv[1])
