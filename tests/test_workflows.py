"""The workflows run what a reader can run, with actions that cannot change; and the link check finds the dead."""

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import set_address  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USES = re.compile(r"^\s*-?\s*uses:\s*(.*)$", re.M)
PINNED = re.compile(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_workflows_to_test_to_see_to_publish_and_for_each_week():
    assert {path.stem for path in WORKFLOWS} == {"test", "pictures", "publish", "weekly"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(path):
    used = USES.findall(path.read_text())
    assert len(used) == sum("uses" in step for step in steps(yaml.safe_load(path.read_text())))
    assert used and [line for line in used if not PINNED.fullmatch(line)] == []


def test_one_action_has_one_pin_everywhere():
    pins = {line.split(" ")[0] for path in WORKFLOWS for line in USES.findall(path.read_text())}
    assert len(pins) == len({pin.split("@")[0] for pin in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_runs_exists_and_it_may_do_no_more_than_it_must(path):
    workflow = yaml.safe_load(path.read_text())
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        program, *rest = command.split()
        assert program in ("make", "bash"), command
        assert set(rest) <= targets if program == "make" else all((ROOT / file).exists() for file in rest)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values())
    writing = {job for job, what in workflow["jobs"].items() if "write" in str(what.get("permissions"))}
    assert writing <= {"deploy"}


def test_a_job_on_a_push_or_a_pull_request_takes_fifteen_minutes_at_most():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        when = workflow[True]  # YAML takes the key `on` for a truth value
        if path.stem != "publish" and {"push", "pull_request"} & set(when):
            assert all(job["timeout-minutes"] <= 15 for job in workflow["jobs"].values()), path.stem


# ---- The link check -------------------------------------------------------------------------------------------------


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        status = {"/gone": 404, "/shy": 403, "/unknown": 401, "/moved": 301, "/dead-end": 301}.get(
            self.path, 200
        )
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/here" if self.path == "/moved" else "/gone")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def server():
    running = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()


def test_the_link_check_as_the_book_sets_it_finds_what_is_dead_and_nothing_else(tmp_path, server):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
    settings = {key: value for key, value in config.items() if key.startswith("linkcheck_")}
    (tmp_path / "conf.py").write_text("\n".join(f"{key} = {value!r}" for key, value in settings.items()))
    asked = ["/here", "/moved", "/unknown", "/gone", "/dead-end"]
    ours = set_address.wanted(ROOT)["site"] + "no-such-page.html"
    links = [server + path for path in asked] + [ours, "http://127.0.0.1:9/nobody"]
    (tmp_path / "index.rst").write_text("Links\n=====\n\n" + "\n".join(f"- {link}" for link in links))
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "linkcheck", tmp_path, tmp_path / "out"]
    assert subprocess.run(command, capture_output=True).returncode != 0
    lines = (tmp_path / "out" / "output.json").read_text().splitlines()
    found = {row["uri"].removeprefix(server): row["status"] for row in map(json.loads, lines)}
    assert {link for link, status in found.items() if status == "broken"} == {
        "/gone", "/dead-end", "http://127.0.0.1:9/nobody"
    }  # fmt: skip
    assert found[ours] == "ignored"
