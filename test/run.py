#!/usr/bin/env python3
"""Runs every test that CMake knows and counts single cases. Ends with one line: N passed, N failed.

CTest says which tests there are; this script runs them because CTest counts a whole suite as one:
  * a GoogleTest binary is run once and its cases are counted from its JSON report;
  * lit's tests are counted from its JSON report;
  * a suite that prints lines `ok NAME` and `FAILED NAME` is counted by them;
  * anything else is one test.

Usage: run.py BUILD-DIRECTORY [NAME-PATTERN]"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TIMEOUT = 1800  # seconds, for one suite
ONE_CASE = re.compile(r"--gtest_filter=[^*:]+$")


class Suite:
    def __init__(self, name, command, environment, timeout):
        self.name, self.command, self.environment, self.timeout = name, command, environment, timeout
        self.passed = self.failed = self.skipped = 0
        self.log, self.seconds = "", 0.0

    def add(self, outcome):
        setattr(self, outcome, getattr(self, outcome) + 1)

    def run(self, scratch):
        report = pathlib.Path(scratch) / (re.sub(r"\W", "_", self.name) + ".json")
        command, environment = list(self.command), dict(os.environ, **self.environment)
        if self.name == "lit":
            command += ["-o", str(report)]
        environment["GTEST_OUTPUT"] = f"json:{report}"
        begin = time.monotonic()
        try:
            result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, timeout=self.timeout)
            code, self.log = result.returncode, result.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as expired:
            code, self.log = -1, (expired.stdout or b"").decode(errors="replace")
            self.log += f"\n{self.name}: no end after {self.timeout} s\n"
        except OSError as error:
            code, self.log = -1, f"{self.name}: cannot start: {error}\n"
        self.seconds = time.monotonic() - begin
        self.count(report)
        if code != 0 and self.failed == 0:
            self.failed = 1  # a crash, or a failure that no report mentions
            self.log += f"\n{self.name}: exit status {code}\n"
        if code == 0 and self.passed + self.failed + self.skipped == 0:
            self.passed = 1
        return self

    def count(self, report):
        if report.exists():
            try:
                content = json.loads(report.read_text())
            except ValueError:
                return  # cut off by a crash; the exit status says so
            for test in content.get("tests", []) if self.name == "lit" else []:
                bad = test["code"] in ("FAIL", "XPASS", "TIMEOUT", "UNRESOLVED")
                self.add("failed" if bad else "passed" if test["code"] in ("PASS", "XFAIL", "FLAKYPASS") else "skipped")
            for group in content.get("testsuites", []):
                for case in group["testsuite"]:
                    ran = case.get("result") == "COMPLETED"
                    self.add("failed" if case.get("failures") else "passed" if ran else "skipped")
            return
        for line in self.log.splitlines():
            if line.startswith("ok "):
                self.add("passed")
            elif line.startswith("FAILED "):
                self.add("failed")
            elif line.startswith("skipped "):
                self.add("skipped")


def collect(build, pattern):
    """The suites that CTest lists; cases of one binary become one suite."""
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    suites, seen = [], set()
    for test in json.loads(listing.stdout)["tests"]:
        name, command = test["name"], test.get("command")
        if not command:  # a binary that was not built
            suites.append(Suite(name, ["false"], {}, TIMEOUT))
            continue
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        environment = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
        if any(ONE_CASE.match(argument) for argument in command):
            command = command[:1]
            name = os.path.basename(command[0])
            if name in seen:
                continue
            seen.add(name)
        if re.search(pattern, name):
            suites.append(Suite(name, command, environment, float(properties.get("TIMEOUT", TIMEOUT))))
    return suites


def main():
    build, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    try:
        suites = collect(build, pattern)
    except (subprocess.CalledProcessError, OSError, ValueError) as error:
        print(f"cannot list the tests of {build}: {error}\n0 passed, 1 failed")
        return 1
    scratch = tempfile.mkdtemp(prefix="pplan-test-")
    # The suites use several threads themselves.
    workers = max(1, (os.cpu_count() or 1) // 2)
    try:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for suite in pool.map(lambda entry: entry.run(scratch), suites):
                if suite.failed:
                    print(suite.log.rstrip())
                skipped = f", {suite.skipped} skipped" if suite.skipped else ""
                print(f"{suite.name}: {suite.passed} passed, {suite.failed} failed{skipped} ({suite.seconds:.1f} s)", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    passed, failed = sum(suite.passed for suite in suites), sum(suite.failed for suite in suites)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
