"""Counting the words of a large file in one process and in two: `python -m benchmarks.pretokens`.

The file is made for the measurement and removed after it: lines of words from a made-up vocabulary, of which the k-th
is about k times as rare as the first, with numbers, punctuation and special tokens in between. One process and two take
turns on 30 MB, and both must count the same; then two count a file ten times as large. Of each run stand here the wall
time, the processor time of all processes together, and the largest memory, in bytes, that the process took, and that
the largest of its children took. Each run is a new process of Python. With a size in megabytes, such as
`python -m benchmarks.pretokens 1000`, two processes count one file of that size, and nothing is stored.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attnlib.data.bpe.counting import count_words_of_files  # nothing else: the memory of a run is measured

SEED, ROUNDS, WORDS, PART, PARTS = 0, 3, 200_000, 10_000_000, 3
SMALL, LARGE = 30_000_000, 300_000_000
END = "<|endoftext|>"


def text_of(n_bytes: int, seed: int) -> bytes:
    """Lines of words, each with a space before it, whose frequencies fall as their ranks rise."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    letters = rng.choice(np.array(list("etaoinshrdlucmfwygpbvé")), size=(WORDS, 9))
    words = np.array(["".join(row[: 2 + i % 8]) for i, row in enumerate(letters)], dtype=object)
    words[5::97], words[3], words[40] = "1984", ".\n", f"\n{END}"
    rng = np.random.default_rng([SEED, seed])
    ranks = (WORDS ** rng.random(n_bytes // 5)).astype(int) - 1  # the probability of a rank is about 1 / rank
    return " ".join(words[ranks]).encode()[:n_bytes].decode(errors="ignore").encode()


def write(file: Path, n_bytes: int) -> None:
    """A few parts of 10 MB, again and again."""
    parts = [text_of(PART, seed) for seed in range(PARTS)]
    with file.open("wb") as out:
        for i in range(n_bytes // PART):
            out.write(parts[i % len(parts)])


def counted(file: Path, processes: int) -> dict:
    """One run in a new process: its time, its memory and what it has counted."""
    command = [sys.executable, "-m", "benchmarks.pretokens", str(file), str(processes)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def run(file: Path, processes: int) -> dict:
    started = time.perf_counter()
    words = count_words_of_files([file], [END], processes=processes)
    wall, children = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall_s": wall,
        "processor_s": time.process_time() + children.ru_utime + children.ru_stime,
        "words": words.total(),
        "different_words": len(words),
        "peak_bytes": {"process": peak_bytes(), "largest_child": 1024 * children.ru_maxrss},
        "checksum": sum(number_of(word) * count for word, count in words.items()) % 2**61,
    }


def peak_bytes() -> int:
    """Of this process; `getrusage` would count what its parent took before it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def number_of(word: bytes) -> int:
    """The same in every process."""
    return int.from_bytes(word[:16], "big") * 1_000_003 + len(word)


def compared(file: Path) -> dict:
    """One process and two in turns, on the small file."""
    from benchmarks.interleaved import digits, ratio

    write(file, SMALL)
    runs = [{n: counted(file, n) for n in ((1, 2) if i % 2 else (2, 1))} for i in range(ROUNDS)]
    seconds = {str(n): [one[n]["wall_s"] for one in runs] for n in (1, 2)}
    return {
        "bytes": SMALL,
        "rounds": ROUNDS,
        "the_same_counts": len({one[n]["checksum"] for one in runs for n in (1, 2)}) == 1,
        "one_takes_times_as_long_as_two": ratio(seconds, "1", "2"),
        "wall_s": {n: [digits(one) for one in times] for n, times in seconds.items()},
        "processor_s": {str(n): [digits(one[n]["processor_s"]) for one in runs] for n in (1, 2)},
        "peak_bytes": {str(n): runs[0][n]["peak_bytes"] for n in (1, 2)},
        "different_words": runs[0][1]["different_words"],
    }


def large(file: Path, n_bytes: int) -> dict:
    """Two processes on a large file."""
    write(file, n_bytes)
    return {"bytes": n_bytes, **counted(file, 2)}


def main(megabytes: int = 0) -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        if megabytes:
            print(json.dumps(large(file, megabytes * 1_000_000), indent=1))
            return
        result = {"small": compared(file), "large": large(file, LARGE)}
    from attnlib.data.results import save_result

    stored = save_result(
        "pretokens",
        result,
        seeds=[SEED],
        command="python -m benchmarks.pretokens",
        seconds=time.perf_counter() - started,
        device=f"cpu, {os.cpu_count()} cores",
    )
    print(stored.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]))))
    else:
        main(*map(int, sys.argv[1:]))
