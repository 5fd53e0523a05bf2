"""DuckDB against exports: what warehouses do with Parquet and CSV."""

import json
import pathlib
import subprocess
import sys

import duckdb

import server
from checks import Checks, equal


def main(binary):
    check = Checks()
    with server.demo(binary) as demo:
        folder = pathlib.Path(demo["folder"])
        for form in ["parquet", "csv", "jsonl"]:
            export(binary, demo, folder / form, "--format", form)
        manifest = json.loads((folder / "parquet" / "manifest.json").read_text())

        @check("every Parquet file has the rows and columns of its CSV")
        def _():
            assert len(manifest["files"]) > 60, len(manifest["files"])
            for file in manifest["files"]:
                parquet = folder / "parquet" / file["path"]
                csv = folder / "csv" / file["path"].replace(".parquet", ".csv")
                found = count(f"read_parquet('{parquet}')")
                equal((file["path"], found), (file["path"], file["rows"]))
                equal(names(f"read_parquet('{parquet}')"), header(csv))
                if count(f"read_csv('{csv}', header = true, all_varchar = true)") != found:
                    raise AssertionError(f"{csv} has other rows")

        @check("columns of a Parquet file have the types of the standard")
        def _():
            found = types(folder / "parquet/edfi/StudentSchoolAssociation.parquet")
            for column, kind in {
                "StudentUniqueId": "VARCHAR",
                "SchoolId": "BIGINT",
                "EntryDate": "DATE",
                "SchoolYear": "INTEGER",
                "PrimarySchool": "BOOLEAN",
                "FullTimeEquivalency": "DECIMAL(5,4)",
                "EntryGradeLevelCodeValue": "VARCHAR",
                "ChangeVersion": "BIGINT",
                "LastModifiedDate": "TIMESTAMP WITH TIME ZONE",
            }.items():
                equal((column, found[column]), (column, kind))
            periods = types(folder / "parquet/edfi/ClassPeriodMeetingTime.parquet")
            equal(periods["StartTime"], "TIME")

        @check("values of a Parquet file are those of the documents")
        def _():
            lines = (folder / "jsonl/ed-fi/students.jsonl").read_text().splitlines()
            wanted = sorted(
                (d["id"], d["studentUniqueId"], d["birthDate"], d["_etag"])
                for d in map(json.loads, lines)
            )
            table = folder / "parquet/edfi/Student.parquet"
            found = duckdb.sql(
                "SELECT Id, StudentUniqueId, BirthDate::VARCHAR, ChangeVersion::VARCHAR "
                f"FROM read_parquet('{table}') ORDER BY Id"
            ).fetchall()
            equal(found, wanted)

        @check("decimal numbers keep every digit")
        def _():
            lines = (folder / "jsonl/ed-fi/studentAcademicRecords.jsonl").read_text().splitlines()
            wanted = sum(
                round(float(d["cumulativeEarnedCredits"]) * 1000)
                for d in map(json.loads, lines)
                if "cumulativeEarnedCredits" in d
            )
            table = folder / "parquet/edfi/StudentAcademicRecord.parquet"
            found = duckdb.sql(
                f"SELECT sum(CumulativeEarnedCredits) * 1000 FROM read_parquet('{table}')"
            ).fetchall()[0][0]
            equal(int(found or 0), wanted)

    check.end()


def export(binary, demo, out, *more):
    command = [binary, "export", "--data-dir", demo["data"], "--out", out, *more]
    subprocess.run(command, check=True, capture_output=True)


def count(source):
    return duckdb.sql(f"SELECT count(*) FROM {source}").fetchall()[0][0]


def names(source):
    return [row[0] for row in duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()]


def types(path):
    rows = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    return {row[0]: row[1] for row in rows}


def header(path):
    with open(path, newline="") as file:
        return file.readline().strip().split(",")


if __name__ == "__main__":
    main(sys.argv[1])
