"""`python -m attnlib.exercises grade`: honest files, broken ones and hostile ones, graded together and none lost."""

import csv
import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from attnlib.exercises.__main__ import main
from attnlib.exercises.classroom import wire
from attnlib.exercises.classroom.command import assigned
from attnlib.exercises.classroom.submission import learners
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.registry import exercises, loaded

ID = "foundations.softmax"
RIGHT = """
import numpy as np
def softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)
"""
ENTROPY = "import numpy as np\ndef entropy(P):\n"
CHECK = "from attnlib.exercises import check\n"

# Each has a right softmax, unless the trouble is in it: name -> (the file, is it passed, what is said, what is flagged)
KINDS = {
    "exits": (RIGHT + "import sys\nsys.exit(0)\n", True, "ends Python itself in line 7", ""),
    "loops": (RIGHT + "while True: pass\n", True, "still running after 1 seconds, at line 6: while True", ""),
    "never-returns": (RIGHT + "sum(range(10**15))\n", False, "did not come to an end within 1 seconds", ""),
    "memory": (RIGHT + "big = [0] * 10**10\n", True, "asked for more memory in line 6", ""),
    "syntax": (RIGHT + "def f(:\n", False, "is no Python: invalid syntax, line 6", ""),
    "module": (
        RIGHT + "import nothing_of_that_name\n",
        True,
        "the module nothing_of_that_name in line 6",
        "",
    ),
    "raises": (RIGHT + "1 / 0\n", True, "stopped in line 6 with ZeroDivisionError", ""),
    "prints": (RIGHT + "for _ in range(50_000): print('x' * 100)\n", True, "", ""),
    "asks": (RIGHT + "input('your name?')\n", True, "EOFError", ""),
    "os-exits": (RIGHT + "import os\nos._exit(0)\n", False, "it ended Python itself, with code 0", ""),
    "killed": (
        RIGHT + "import os\nos.kill(os.getpid(), 9)\n",
        False,
        "while it ran, it was killed (SIGKILL)",
        "",
    ),
    "unknown-id": (RIGHT + CHECK + "check('foundations.sofmax', 1)\n", True, "is not the id", ""),
    "imports": (
        "from attnlib.exercises.foundations.softmax import softmax\n"
        + CHECK
        + f"check('{ID}', lambda S: softmax(S))\n",
        True,
        "",
        f"reads the file of the exercise {ID}",
    ),
    "borrows": (
        f"from attnlib.reference.ops import softmax\n{CHECK}check('{ID}', softmax)\n",
        True,
        "",
        f"answers {ID} with a function of attnlib.reference.ops",
    ),
    "finds": (
        f"import importlib\nr = importlib.import_module('attnlib.exercises.engine.registry')\n{CHECK}"
        f"check('{ID}', r.loaded('{ID}').solution)\n",
        True,
        "",
        "imports attnlib.exercises.engine.registry",
    ),
    "asks-for-it": (
        RIGHT + f"from attnlib.exercises import solution\nprint(solution('{ID}', confirm=True))\n",
        True,
        "",
        f"asks for the solution of {ID}",
    ),
    "patches-check": (
        "import attnlib.exercises as e\ne.check = lambda *a, **k: True\ndef softmax(S): return S\n",
        False,
        "",
        "replaces attnlib.exercises.check",
    ),
    "patches-engine": (
        "from attnlib.exercises.engine import grading, outcomes\ngrading.grade = lambda *a: None\n"
        "outcomes.same = lambda *a: True\ndef softmax(S): return S\n",
        False,
        "",
        "imports attnlib.exercises.engine",
    ),
    "patches-numpy": (
        "import numpy as np\nnp.allclose = np.isclose = np.array_equal = lambda *a, **k: True\n"
        "def softmax(S): return S\n",
        False,
        "",
        "overrides numpy.allclose",
    ),
    "runs": (
        RIGHT + "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])\n",
        True,
        "",
        "starts another program",
    ),
    "shouts": (
        "import os\nfor handle in range(3, 20):\n    try: os.write(handle, b'{]\\n')\n    except OSError: pass\n",
        False,
        "it sent what makes no sense",
        "sends what makes no sense",
    ),
    "equals-all": (
        CHECK
        + "class All:\n    def __eq__(self, other): return True\n    def __call__(self, S): return All()\n"
        f"check('{ID}', All())\ncheck('foundations.predict-odds', All())\n",
        False,
        "",
        "",
    ),
    "spreads": (
        RIGHT + "import glob\nfor name in glob.glob('*'): open(name, 'w').close()\n",
        True,
        "",
        "",
    ),
}
FUNCTIONS = {
    "loop": ("    while True: pass\n", "stopped", "line 8: while True: pass"),
    "loop-in-c": ("    return sum(range(10**15))\n", "stopped", "still running after 1 seconds"),
    "memory": ("    return np.zeros(10**10)\n", "error", "MemoryError"),
    "os-exit": ("    import os; os._exit(0)\n", "error", "ended Python itself"),
    "exit": ("    raise SystemExit(0)\n", "error", "SystemExit"),
    "strange": ("    return {'P': P}\n", "wrong", "dict"),
    "other-arguments": ("    return P\n", "wrong", "called with 1 argument"),
    "stub": ("    ...\n", "not attempted", "in place of the `...`"),
}


def notebook(*cells):
    code = [{"cell_type": "code", "source": text.splitlines(True), "outputs": []} for text in cells]
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Week 1"}, *code]})


HONEST = {
    "ann.py": RIGHT.replace("softmax", "mine") + f"{CHECK}check('{ID}', mine)\n"
    "check('foundations.predict-odds', 1 / 3)\ncheck('foundations.predict-odds', 0.5)\n"
    "check('foundations.hull-proof', [True] * 4)\n",
    "bob.py": RIGHT.replace("axis=-1", "axis=0").replace(
        "def", f"from attnlib.exercises import exercise\n@exercise('{ID}')\ndef"
    ),
    "cai.ipynb": notebook(
        "%matplotlib inline\nimport numpy as np\n!ls",
        "%%bash\necho $HOME",
        "undefined_name",
        RIGHT.replace("axis=-1", "axis=0"),
        f"{CHECK}result = check('{ID}', softmax)\nassert result.passed\nresult",
        "check('foundations.predict-odds', 2 / 3)",
    ),
}


def graded(folder, files, *options):
    """The exit code, and what the JSON says of each learner."""
    paths = []
    for name, content in files.items():
        paths.append(folder / name)
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    out = folder / "all.json"
    code = main(["grade", *map(str, paths), "--json", str(out), "--csv", str(folder / "all.csv"), *options])
    return code, json.loads(out.read_text(encoding="utf-8"))


def reasons(folder):
    """What the last grading wrote for a spreadsheet: the reasons of each learner."""
    with (folder / "all.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["learner"]: " ".join(r["mistakes and reasons"] for r in rows if r["learner"] == row["learner"])
        for row in rows
    }


SLOW = {"loops", "never-returns", "in-a-function-loop", "in-a-function-loop-in-c"}


@pytest.fixture(scope="module")
def class_of_all_kinds(tmp_path_factory):
    """All kinds of trouble in two runs; what has no end gets a second, the others the time that they want."""
    files = {name: content for name, (content, *_) in KINDS.items()}
    for name, (body, *_) in FUNCTIONS.items():
        head = ENTROPY.replace("(P)", "(P, Q)" if name == "other-arguments" else "(P)")
        files[f"in-a-function-{name}"] = RIGHT + head + body
    folder = tmp_path_factory.mktemp("class")
    ending = {f"{name}.py": content for name, content in files.items() if name not in SLOW}
    endless = {f"{name}.py": content for name, content in files.items() if name in SLOW}
    code, found = graded(folder, ending, "--memory", "1024")
    why = reasons(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnlib.exercises.classroom.process.GRACE", 1.5)
        _, more = graded(folder, endless, "--seconds", "1", "--file-seconds", "1")
    return code, {one["learner"]: one for one in found["learners"] + more["learners"]}, why | reasons(folder)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_gets_its_sentence(class_of_all_kinds, name):
    _, passed, said, flagged = KINDS[name]
    one = class_of_all_kinds[1][name]
    assert ID in [mark["id"] for mark in one["exercises"] if mark["status"] == "passed"] or not passed
    assert passed or not one["points"]
    troubles, flags = one["troubles"], one["flags"]
    assert len(troubles) == bool(said) and said in "".join(troubles), troubles
    assert any(flagged in flag for flag in flags) if flagged else not flags, flags


@pytest.mark.parametrize("name", FUNCTIONS)
def test_trouble_in_one_function_leaves_the_others(class_of_all_kinds, name):
    _, status, said = FUNCTIONS[name]
    one = class_of_all_kinds[1][f"in-a-function-{name}"]
    marks = {mark["id"]: mark for mark in one["exercises"]}
    assert marks[ID]["status"] == "passed" and not one["troubles"] and not one["flags"]
    assert marks["foundations.entropy"]["status"] == status
    assert said in marks["foundations.entropy"]["message"]


def test_a_flagged_file_is_in_the_exit_code(class_of_all_kinds):
    assert class_of_all_kinds[0] == 3


def test_honest_learners(tmp_path, capsys):
    code, found = graded(tmp_path, HONEST, "--at-least", "1", "--junit", str(tmp_path / "all.xml"))
    assert code == 1, "one of them has no point"
    ann, bob, cai = ({m["id"]: m for m in one["exercises"]} for one in found["learners"])
    assert all(mark["status"] == "passed" for mark in ann.values()) and len(ann) == 3
    assert ann["foundations.predict-odds"]["attempts"] == 2 and ann["foundations.hull-proof"]["own_marks"]
    assert found["learners"][0]["points_by_level"] == {"1": 2, "2": 2, "3": 0}
    assert bob[ID]["mistakes"] == cai[ID]["mistakes"] == ["wrong axis"]
    assert cai["foundations.predict-odds"]["mistakes"] == ["twice its old weight"]
    assert (
        "NameError" in found["learners"][2]["troubles"][0] and "cell 3" in found["learners"][2]["troubles"][0]
    )
    assert found["common_mistakes"][ID] == {"wrong axis": 2}
    printed = capsys.readouterr().out
    assert "2 x wrong axis" in printed and "1 of 3 passed, 3 tried" in printed
    assert "for you to read: foundations.hull-proof" in printed
    suites = {suite.get("name"): suite for suite in ET.parse(tmp_path / "all.xml").getroot()}
    assert suites["ann"].attrib["tests"] == "4" and suites["ann"].attrib["failures"] == "0"
    assert suites["bob"].find(f"./testcase[@name='{ID}']/failure") is not None
    assert suites["cai"].find("./testcase[@name='the file']/error") is not None


def test_what_was_assigned_is_graded_and_nothing_else(tmp_path):
    code, found = graded(tmp_path, {"ann.py": RIGHT}, "--assign", f"{ID},foundations.predict-odds")
    marks = {mark["id"]: mark["status"] for mark in found["learners"][0]["exercises"]}
    assert code == 0 and marks == {ID: "passed", "foundations.predict-odds": "not attempted"}
    assert {one.chapter for one in assigned(["multi-head"])} == {"multi-head"}
    assert ID in [one.id for one in assigned(["01-foundations/4-softmax-and-scale"])]


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        ("loops", "stopped after 1 s"),
        ("in-a-function-loop", "stopped after 1 s"),
        ("os-exits", "left the process"),
        ("killed", "left the process"),
        ("in-a-function-os-exit", "left the process"),
        ("in-a-function-memory", "MemoryError"),
        ("asks-for-it", "read the solution"),
        ("imports", "read the solution"),
        ("borrows", "answered with a function of attnlib"),
        ("patches-numpy", "replaced what grades"),
    ],
)
def test_the_table_has_the_reason(class_of_all_kinds, learner, why):
    assert why in class_of_all_kinds[2][learner]


SAME = RIGHT.replace("(S", "(T").replace("S.max", "T.max").replace("S -", "T -").replace("E", "weights")


def test_files_that_are_the_same_but_for_names_stand_side_by_side(tmp_path, capsys):
    files = {"ann.py": RIGHT, "bob.py": f"# mine\n{SAME}", "cai.py": RIGHT.replace("axis=-1", "axis=1")}
    assert SAME != RIGHT
    _, found = graded(tmp_path, files)
    assert found["alike"] == [["ann", "bob"]]
    assert "The same but for names: ann | bob.\n" in capsys.readouterr().out


def test_a_folder_is_graded_and_a_table_for_spreadsheets_is_written(tmp_path, capsys):
    for name, text in {
        "ann.py": RIGHT,
        "deep/bob.py": "def f(:\n",
        ".old/cai.py": RIGHT,
        "a.txt": "x",
    }.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    assert main(["grade", str(tmp_path / "in"), "--csv", str(tmp_path / "all.csv")]) == 0
    with (tmp_path / "all.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["learner"], row["exercise"], row["points"]) for row in rows] == [
        ("ann", ID, "1"),
        ("bob", "", "0"),
    ]
    (tmp_path / "empty").mkdir()
    assert main(["grade", str(tmp_path / "empty")]) == 2
    assert "a folder must have .py or .ipynb files; got" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.ipynb", "not json", "it is no notebook"),
        ("a.ipynb", '{"cells": 3}', "it is no notebook"),
        ("a.ipynb", "[" * 100_000, "it is no notebook"),
        ("a.py", b"\xff\xfe\x00", "UTF-8"),
        ("a.txt", "x", "neither a .py nor"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_and_loses_no_other(tmp_path, capsys, name, content, why):
    code, found = graded(tmp_path, {name: content, "bob.py": RIGHT})
    assert code == 2 and why in found["learners"][0]["troubles"][0] and found["learners"][1]["points"] == 1
    assert main(["grade", str(tmp_path / "nowhere.py")]) == 2
    assert "it is not there" in capsys.readouterr().out


def test_an_unknown_assignment_says_so(tmp_path, capsys):
    assert main(["grade", str(tmp_path / "a.py"), "--assign", "foundations.sofmax"]) == 2
    assert "Did you mean foundations.softmax" in capsys.readouterr().err


def test_a_torch_answer_is_graded(tmp_path):
    pytest.importorskip("torch")
    one = loaded("foundations.straight-through")
    assert isinstance(one, CodeExercise)
    file = f"{one.preamble}\n{CHECK}\n{one.model_answer}\ncheck('{one.id}', {one.name})\n"
    code, found = graded(tmp_path, {"ann.py": file})
    assert code == 0 and found["learners"][0]["exercises"][0]["status"] == "passed"


def test_each_code_exercise_passes_with_its_solution_and_is_not_attempted_with_its_stub(tmp_path):
    code = [one for one in exercises().values() if isinstance(one, CodeExercise) and not one.needs]
    text = "".join(f"{one.preamble}\n{one.model_answer}\ncheck('{one.id}', {one.name})\n" for one in code)
    stubs = "".join(f"{one.preamble}\n{one.stub}\ncheck('{one.id}', {one.name})\n" for one in code)
    _, found = graded(tmp_path, {"ann.py": CHECK + text, "bob.py": CHECK + stubs})
    statuses = [{m["id"]: m["status"] for m in one["exercises"]} for one in found["learners"]]
    assert statuses[0] == {one.id: "passed" for one in code}
    assert statuses[1] == {one.id: "not attempted" for one in code}


@pytest.mark.parametrize(
    "sent",
    [
        {"array": ["O", [1], ""]},
        {"array": ["<f8", [10**12], ""]},
        {"list": 3},
        {"array": [], "list": []},
        ["bare"],
    ],
)
def test_nothing_but_numbers_and_texts_is_taken_from_a_player(sent):
    with pytest.raises((ValueError, TypeError)):
        wire.decoded(sent)


def test_learners_are_told_apart_by_their_folders(tmp_path):
    paths = [tmp_path / "ann" / "week.py", tmp_path / "bob" / "week.py"]
    assert learners(paths) == ["ann/week", "bob/week"]
    assert learners([paths[0], paths[0].with_suffix(".ipynb")]) == ["week.py", "week.ipynb"]


PAGE = (Path(__file__).parents[1] / "book" / "in-a-class.md").read_text(encoding="utf-8")


def test_the_workflow_on_the_page_grades(tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.S)[0])["jobs"]["grade"]["steps"]
    (line,) = [step["run"] for step in steps if "grade" in step.get("run", "")]
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "ann.py").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.replace("answers/*", "answers/ann.py"))
    assert words[:2] == ["attnlib", "grade"] and main(words[1:]) == 0
    assert [suite.get("failures") for suite in ET.parse(tmp_path / "results.xml").getroot()] == ["0"]


def test_the_table_on_the_page_is_what_is_printed(tmp_path, capsys):
    graded(tmp_path, HONEST)
    table = re.findall(r"```none\n(learner.*?)```", PAGE, re.S)[0]
    assert capsys.readouterr().out.strip() == table.strip()


def test_the_options_and_exit_codes_are_on_the_page(capsys):
    with pytest.raises(SystemExit):
        main(["grade", "--help"])
    said = capsys.readouterr().out
    assert set(re.findall(r"--[a-z][a-z-]+", said)) - {"--help"} == set(
        re.findall(r"--[a-z][a-z-]+", PAGE)
    ) - {"--no-environment"}
