"""Training a tokenizer, and reading a file through it in blocks: `python -m benchmarks.tokenizer`.

The text is the standard library's source. From 130 kB 500 merges are learned, from 5 MB 10,000, from the text to the
list of merges, by `attnlib` and by `tokenizers` (in Rust, one thread); both lists must be the same. Best of several
runs: wall time, and processor time, since other work may share the machine. Then the 5 MB are a file that is read block
by block into numbers of the course's own tokenizer: how long it takes, and, in a run that is not timed, how many bytes
Python allocated at the peak.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"  # before `tokenizers` is loaded: one core against one core

import hashlib
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

import tokenizers

from attnlib.data.bpe.alphabet import spelled
from attnlib.data.bpe.merging import Merge
from attnlib.data.bpe.pretokenize import split_words
from attnlib.data.bpe.training import count_words, learn_merges
from attnlib.data.results import save_result
from attnlib.data.stdlib import texts
from attnlib.models.course import course_tokenizer
from benchmarks.interleaved import digits

TRAININGS = {"130 kB, 500 merges": (130_000, 500), "5 MB, 10,000 merges": (5_000_000, 10_000)}
RUNS = 5


def library_text(n_bytes: int) -> str:
    """The first bytes of the standard library, module after module."""
    parts, length = [], 0
    for _, text in texts("train"):
        parts.append(text.encode())
        length += len(parts[-1])
        if length >= n_bytes:
            break
    return b"".join(parts)[:n_bytes].decode(errors="ignore")


def ours(text: str, n_merges: int) -> list[Merge]:
    return learn_merges(count_words([text]), n_merges)


def theirs(text: str, n_merges: int) -> list[str]:
    """The merges that `tokenizers` learns, as its files write them."""
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator([text], trainer)
    return [" ".join(pair) for pair in json.loads(peer.to_str())["model"]["merges"]]


def best(work: Callable[[], object]) -> dict[str, float]:
    """The least wall time and the least processor time of several runs, in seconds."""
    walls, processors = [], []
    for _ in range(RUNS):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return {"wall_s": digits(min(walls)), "processor_s": digits(min(processors))}


def training(n_bytes: int, n_merges: int) -> dict:
    text = library_text(n_bytes)
    learned = [f"{spelled(left)} {spelled(right)}" for left, right in ours(text, n_merges)]
    return {
        "bytes": len(text.encode()),
        "words": sum(1 for _ in split_words(text)),
        "different_words": len(count_words([text])),
        "merges": len(learned),
        "the_same_merges": learned == theirs(text, n_merges),
        "attnlib": best(lambda: ours(text, n_merges)),
        "tokenizers": best(lambda: theirs(text, n_merges)),
    }


def count(numbers: Iterable[int]) -> int:
    return sum(1 for _ in numbers)


def streaming(n_bytes: int) -> dict:
    tokenizer = course_tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "library.txt"
        file.write_bytes(library_text(n_bytes).encode())
        seconds = best(lambda: count(tokenizer.encode_file(file)))
        fresh = course_tokenizer()
        tracemalloc.start()
        tokens = count(fresh.encode_file(file))
        extra = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return {"bytes": file.stat().st_size, "tokens": tokens, "extra_bytes": extra, **seconds}


def main() -> None:
    started = time.perf_counter()
    result = {
        "runs": RUNS,
        "text": hashlib.sha256(library_text(5_000_000).encode()).hexdigest()[:12],
        "tokenizers": metadata.version("tokenizers"),
        "training": {name: training(*sizes) for name, sizes in TRAININGS.items()},
        "streaming": streaming(5_000_000),
    }
    file = save_result(
        "tokenizer",
        result,
        seeds=[],
        command="python -m benchmarks.tokenizer",
        seconds=time.perf_counter() - started,
        device=f"cpu, one thread of {os.cpu_count()} cores",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
