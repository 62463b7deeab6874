"""The workflows run what a reader can run, with actions that cannot change; and the link check finds the dead."""

import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_links  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USES = re.compile(r"^\s*-?\s*uses:\s*(.*)$", re.M)
PINNED = re.compile(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_workflows_to_test_to_publish_and_for_each_week():
    assert {path.stem for path in WORKFLOWS} == {"test", "publish", "weekly"}


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


# ---- The link check -------------------------------------------------------------------------------------------------


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        status = {"/gone": 404, "/shy": 403, "/moved": 301, "/dead-end": 301}.get(self.path, 200)
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/here" if self.path == "/moved" else "/gone")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def server():
    running = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()


@pytest.mark.parametrize(
    ("path", "why"),
    [("/here", ""), ("/moved", ""), ("/shy", ""), ("/gone", "answers 404"), ("/dead-end", "answers 404")],
)
def test_an_address_is_dead_if_nothing_is_there(server, path, why):
    assert check_links.fault(server + path) == why


def test_an_address_where_nobody_answers_is_dead():
    assert check_links.fault("http://127.0.0.1:9/") == "ConnectionError"


def test_addresses_are_read_from_texts_without_what_follows_them():
    text = "[a](https://a.org/x_(y)), <https://b.org/>. **https://c.org/p?q=1** and http://localhost:8000/ or https://d.example/"
    assert check_links.named_in(text) == {"https://a.org/x_(y)", "https://b.org/", "https://c.org/p?q=1"}


def test_the_texts_name_outside_addresses_and_our_own_are_not_among_them():
    places = check_links.outside(ROOT)
    assert places["https://creativecommons.org/licenses/by/4.0/legalcode"] == ["LICENSE-TEXT"]
    assert not [address for address in places if "attention-executed" in address]
