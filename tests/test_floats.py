"""What is stored of a number: NumPy's float16 and PyTorch's bfloat16, bit by bit."""

import numpy as np
import pytest
import torch

from attnlib.reference.floats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FloatFormat,
    bits,
    largest,
    smallest,
    smallest_normal,
    spacing,
    stored,
)

TYPES = {FLOAT16: torch.float16, BFLOAT16: torch.bfloat16, FLOAT32: torch.float32}
FORMATS = pytest.mark.parametrize("format", TYPES, ids=("float16", "bfloat16", "float32"))


def by_torch(x, format):
    return torch.from_numpy(x).to(TYPES[format]).double().numpy()


def every(format):
    """All finite numbers of a format of 16 bits, from zero up."""
    patterns = np.arange(2**15, dtype=np.uint16)
    found = torch.from_numpy(patterns.view(np.int16)).view(TYPES[format]).double().numpy()
    return found[np.isfinite(found)]


@pytest.mark.parametrize("format", (FLOAT16, BFLOAT16), ids=("float16", "bfloat16"))
def test_each_number_of_a_format_and_each_border_between_two_is_stored_as_by_pytorch(format):
    """The middle between two neighbours goes to the even one, and what lies a little beside it to the nearer."""
    numbers = every(format)
    assert np.array_equal(stored(numbers, format), numbers)
    middles = (numbers[1:] + numbers[:-1]) / 2
    assert len(middles) > 31_000
    if format is FLOAT16:
        assert np.array_equal(stored(middles, format), middles.astype(np.float16).astype(np.float64))
    for x in (middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf)):
        exact = x.astype(np.float32) == x  # PyTorch goes from float64 to bfloat16 by way of float32
        nearer = np.where(x > middles, numbers[1:], numbers[:-1])
        even = np.where(np.arange(len(middles)) % 2, numbers[1:], numbers[:-1])
        assert np.array_equal(stored(x, format), np.where(x == middles, even, nearer))
        assert np.array_equal(stored(x, format)[exact], by_torch(x[exact], format))


@FORMATS
def test_a_large_sample_of_both_signs_is_stored_as_by_pytorch(format, rng):
    x = rng.normal(size=100_000) * 2.0 ** rng.integers(-160, 124, size=100_000)
    x = x.astype(np.float32).astype(np.float64)
    assert np.array_equal(stored(x, format), by_torch(x, format))
    assert np.array_equal(stored(-x, format), -stored(x, format))


@FORMATS
def test_what_is_no_number_stays_so_and_what_is_too_large_is_infinite(format):
    top, step = largest(format), float(spacing(np.array(largest(format)), format))
    x = np.array([np.nan, np.inf, -np.inf, top, top + step / 2, -top - step / 2, top + step / 2.001, 0.0])
    expected = [np.nan, np.inf, -np.inf, top, np.inf, -np.inf, top, 0.0]
    assert np.array_equal(stored(x, format), expected, equal_nan=True)
    assert str(stored(np.array(-1e-300), format)) == "-0.0"


@FORMATS
def test_the_borders_are_those_that_pytorch_tells(format):
    told = torch.finfo(TYPES[format])
    assert largest(format) == told.max
    assert smallest_normal(format) == told.tiny
    assert smallest(format) == told.smallest_normal * told.eps
    assert spacing(np.array(1.0), format) == told.eps


def test_bfloat16_reaches_as_far_as_float32_with_steps_of_a_128th():
    assert smallest_normal(BFLOAT16) == smallest_normal(FLOAT32)
    assert largest(BFLOAT16) > 0.99 * largest(FLOAT32)
    assert spacing(np.array(1.0), BFLOAT16) == 2**-7


def test_an_update_smaller_than_half_the_spacing_is_lost_without_master_weights():
    """A thousand steps of 1e-4: float16 stays at one, and a copy in float32 arrives."""
    alone, master = np.ones(1), np.ones(1)
    for _ in range(1000):
        alone = stored(alone + 1e-4, FLOAT16)
        master = stored(master + 1e-4, FLOAT32)
    assert alone == 1.0
    assert stored(master, FLOAT16) == np.float16(1.1)


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -3.14159, 6e-8, 2e-5, 65504.0, 1e9, -np.inf, np.nan])
@FORMATS
def test_bits_are_those_in_the_memory(x, format):
    whole = torch.tensor(x, dtype=torch.float32).to(TYPES[format])
    width = 1 + format.e + format.m
    kind = torch.int32 if width == 32 else torch.int16
    pattern = int(whole.view(kind)) % 2**width
    assert "".join(bits(float(torch.tensor(x, dtype=torch.float32)), format)) == f"{pattern:0{width}b}"


def test_sixteen_bits_are_half_the_bytes():
    """What they save for certain; how much faster they are is a question to the machine."""
    sizes = {name: torch.zeros(7, 11, dtype=kind).untyped_storage().nbytes() for name, kind in TYPES.items()}
    assert sizes[FLOAT32] == 2 * sizes[FLOAT16] == 2 * sizes[BFLOAT16]
    assert all(8 * size == 77 * (1 + format.e + format.m) for format, size in sizes.items())


def test_a_format_of_eight_bits_is_a_format_too():
    """With four bits for the power and three for the digits, and infinity kept."""
    e4m3 = FloatFormat(4, 3)
    assert (largest(e4m3), smallest(e4m3)) == (240.0, 2**-9)
    assert stored(np.array([17.0, 19.0, 21.0]), e4m3).tolist() == [16.0, 20.0, 20.0]
