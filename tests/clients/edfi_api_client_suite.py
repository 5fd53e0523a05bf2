"""edfi-api-client 0.4.1 against the server: what pipelines that pull data do."""

import sys

import requests
from edfi_api_client import EdFiClient

import server
from checks import Checks, equal

PAGE_SIZE = 7
# The client sends no page size with its first request, and the server's default holds.
FIRST_PAGE = 500


def main(binary):
    check = Checks()
    with server.demo(binary) as demo:
        client = EdFiClient(demo["url"], demo["key"], demo["secret"])
        info(check, client)
        tokens(check, client, demo)
        paging(check, client)
        changes(check, client)
    check.end()


def info(check, client):
    @check("edfi-api-client: the discovery document says version and data model")
    def _():
        assert tuple(map(int, client.get_ods_version().split(".")[:2])) >= (7, 3)
        equal(client.get_data_model_version(), "5.2.0")
        equal(client.instance_locator, None)

    @check("edfi-api-client: the OpenAPI documents list every resource, with deletes")
    def _():
        equal(len(client.descriptors), 211)
        equal(len(client.resources), 138)
        without = [name for name in client.resources if not client.resource(name).has_deletes]
        equal(without, [("ed-fi", "schoolYearTypes")])
        assert client.resource("students").description


def tokens(check, client, demo):
    @check("edfi-api-client: a token is given for key and secret")
    def _():
        client.connect()
        assert client.session.access_token

    @check("edfi-api-client: token_info says whose token it is")
    def _():
        found = client.get_token_info()
        equal(found["active"], True)
        equal(found["client_id"], demo["key"])

    @check("edfi-api-client: a wrong secret is refused")
    def _():
        try:
            EdFiClient(demo["url"], demo["key"], "wrong").connect()
        except requests.HTTPError as problem:
            equal(problem.response.status_code, 401)
        else:
            raise AssertionError("it was let in")


def paging(check, client):
    counted = {name: client.resource(name).get_total_count() for name in ("students", "grades")}
    endpoint = client.resource("studentSectionAssociations")

    @check("edfi-api-client: a total count without rows")
    def _():
        assert counted["students"] >= server.STUDENTS, counted
        assert endpoint.get_total_count() > FIRST_PAGE + 2 * PAGE_SIZE

    @check("edfi-api-client: cursor paging gives every row once")
    def _():
        rows = list(endpoint.get_rows(page_size=PAGE_SIZE))
        equal(len(rows), endpoint.get_total_count())
        equal(len({row["id"] for row in rows}), len(rows))

    @check("edfi-api-client: cursor paging goes by pages of the size asked for")
    def _():
        sizes = [len(page) for page in endpoint.get_pages_cursor(page_size=PAGE_SIZE)]
        full, rest = divmod(endpoint.get_total_count() - FIRST_PAGE, PAGE_SIZE)
        # The last page is known by being empty.
        equal(sizes, [FIRST_PAGE] + [PAGE_SIZE] * full + [rest] * (rest > 0) + [0])

    @check("edfi-api-client: offset paging gives the same rows")
    def _():
        by_offset = [row["id"] for page in endpoint.get_pages(page_size=100) for row in page]
        by_cursor = [row["id"] for row in endpoint.get_rows(page_size=100)]
        equal(sorted(by_offset), sorted(by_cursor))

    @check("edfi-api-client: a row by its id is the row of the list")
    def _():
        (row,) = endpoint.get(limit=1)
        equal(endpoint.get_by_id(row["id"]), row)

    @check("edfi-api-client: a filter by a key gives the one row")
    def _():
        (student,) = client.resource("students").get(limit=1)
        unique_id = student["studentUniqueId"]
        found = client.resource("students", params={"studentUniqueId": unique_id}).get()
        equal([row["id"] for row in found], [student["id"]])

    @check("edfi-api-client: descriptors are listed")
    def _():
        endpoint = client.descriptor("gradeLevelDescriptors")
        rows = list(endpoint.get_rows(page_size=3))
        equal(len(rows), endpoint.get_total_count())
        assert rows
        assert all({"namespace", "codeValue", "shortDescription"} <= row.keys() for row in rows)

    @check("edfi-api-client: a ping")
    def _():
        equal(client.resource("students").ping().status_code, 200)

    @check("edfi-api-client: a resource that does not exist is 404")
    def _():
        try:
            client.resource("wizards").get()
        except requests.HTTPError as problem:
            equal(problem.response.status_code, 404)
        else:
            raise AssertionError("it was found")


def changes(check, client):
    students = client.resource("students")

    def since(version, **more):
        window = {"minChangeVersion": version + 1, "maxChangeVersion": newest()}
        return client.resource("students", params=window, **more)

    def newest():
        return client.get_newest_change_version()

    def a_student(name):
        document = {
            "studentUniqueId": "client-1",
            "firstName": name,
            "lastSurname": "Client",
            "birthDate": "2015-05-05",
        }
        answer = client.session.post_response(students.url, document)
        return answer.headers["Location"].rsplit("/", 1)[1], answer.status_code

    @check("edfi-api-client: a change window holds what was created and changed, once")
    def _():
        before = newest()
        created, first = a_student("Ada")
        changed, second = a_student("Grace")
        equal((first, second), (201, 200))
        equal(created, changed)
        rows = list(since(before).get_rows(page_size=PAGE_SIZE))
        equal([(row["id"], row["firstName"]) for row in rows], [(created, "Grace")])
        equal(since(before).get_total_count(), 1)

    @check("edfi-api-client: sending the same again is no change")
    def _():
        before = newest()
        a_student("Grace")
        equal(newest(), before)

    @check("edfi-api-client: stepping through change versions gives every row once")
    def _():
        window = {"minChangeVersion": 0, "maxChangeVersion": newest()}
        endpoint = client.resource("students", params=window)
        pages = endpoint.get_pages(
            page_size=PAGE_SIZE, step_change_version=True, change_version_step_size=500
        )
        rows = [row["id"] for page in pages for row in page]
        equal(len(rows), students.get_total_count())
        equal(len(set(rows)), len(rows))

    @check("edfi-api-client: what was deleted is among the deletes")
    def _():
        before = newest()
        (student,) = client.resource("students", params={"studentUniqueId": "client-1"}).get()
        answer = client.session.delete_response(students.url, student["id"])
        equal(answer.status_code, 204)
        deletes = list(since(before, get_deletes=True).get_rows(page_size=PAGE_SIZE))
        equal([row["id"] for row in deletes], [student["id"]])
        equal(deletes[0]["keyValues"], {"studentUniqueId": "client-1"})
        equal(since(before, get_deletes=True).get_total_count(), 1)

    @check("edfi-api-client: key changes can be asked for")
    def _():
        equal(list(since(0, get_key_changes=True).get_rows(page_size=PAGE_SIZE)), [])


if __name__ == "__main__":
    main(sys.argv[1])
