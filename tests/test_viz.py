"""Figures say what they show, come out byte for byte the same, in one ink, on one ground."""

import re

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from attnlib import viz
from attnlib.reference.ops import softmax
from attnlib.viz.style import to_svg, windows_of


def a_figure():
    viz.use_style()
    ax = viz.heatmap(np.array([[0.25, 0.75], [0.5, 0.5]]), rows=["the", "cat"], columns=["le", "chat"])
    return ax.figure


def test_a_figure_is_reproducible_and_carries_its_description():
    first = to_svg(a_figure(), "The cat looks at le & chat equally.")
    second = to_svg(a_figure(), "The cat looks at le & chat equally.")
    plt.close("all")
    assert first == second
    assert 'aria-label="The cat looks at le &amp; chat equally."' in first
    assert "<title>The cat looks at le &amp; chat equally.</title>" in first
    assert "<metadata>" not in first


def test_text_is_drawn_in_the_ink_the_page_recolours():
    svg = to_svg(a_figure(), "Weights of two words.")
    plt.close("all")
    assert viz.INK in svg
    assert "#000000" not in svg


def test_the_ground_is_that_of_the_whole_drawing_and_only_there():
    svg = to_svg(a_figure(), "Weights of two words.")
    plt.close("all")
    assert re.match(r'<svg [^>]*style="background: #ffffff"', svg), "a dark notebook would hide dark ink"
    assert svg.count("background") == 1


def sizes(figure):
    """The width of each window, row by row."""
    windows = windows_of(figure)
    plt.close(figure)
    return (
        [[int(window.split()[2]) for window in row.split(", ")] for row in windows.split("; ")]
        if windows
        else []
    )


def test_panels_side_by_side_are_parted_and_a_legend_of_all_is_a_row_of_its_own():
    viz.use_style()
    fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    left.plot([1, 2], label="one")
    fig.legend(loc="outside upper center")
    (legend,), panels = sizes(fig)
    assert len(panels) == 2 and legend < 100 and all(260 < width < 300 for width in panels)


def test_a_colour_bar_stays_with_its_panel_and_a_single_panel_is_not_parted():
    viz.use_style()
    fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    fig.colorbar(axes[0].imshow(np.eye(2)), ax=axes[0])
    assert [len(row) for row in sizes(fig)] == [2]
    assert sizes(a_figure()) == [] == sizes(plt.subplots(2, 1)[0])


def test_panels_whose_words_run_into_each_other_are_not_parted():
    viz.use_style()
    fig, axes = plt.subplots(1, 2, figsize=(4, 2), layout="constrained")
    axes[0].set_title("a title that is much longer than the panel which it names")
    assert sizes(fig) == []


def test_show_displays_one_svg_with_the_alt_text_as_plain_text(monkeypatch):
    shown = []
    monkeypatch.setattr("attnlib.viz.style.display", shown.append)
    viz.show(a_figure(), alt="Each row sums to one.")
    (figure,) = shown
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == repr(figure) == "Each row sums to one."
    assert bundle["image/svg+xml"].startswith("<svg")
    assert not plt.get_fignums()


def test_show_refuses_an_alt_that_says_nothing():
    with pytest.raises(ValueError, match="alt must say in a sentence what the figure shows; got 'heatmap'"):
        viz.show(a_figure(), alt="heatmap")
    plt.close("all")


def test_heatmap_puts_row_zero_on_top_and_labels_every_cell():
    ax = viz.heatmap(np.array([[0.1, 0.9]]), rows=["cat"], columns=["le", "chat"])
    assert [t.get_text() for t in ax.texts] == ["0.10", "0.90"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["le", "chat"]
    assert ax.get_ylim() == (1, 0)
    plt.close("all")


@pytest.mark.bad_input
def test_heatmap_refuses_a_batch():
    with pytest.raises(ValueError, match=r"M must have two axes, rows and columns; got shape \(2, 3, 4\)"):
        viz.heatmap(np.zeros((2, 3, 4)))


def test_alignment_plot_checks_its_words_and_marks_the_gold():
    with pytest.raises(ValueError, match=r"got P \(1, 2\) for 2 target and 2 source words"):
        viz.alignment_plot(np.ones((1, 2)) / 2, ["a", "b"], ["c", "d"])
    ax = viz.alignment_plot(np.eye(2), ["a", "b"], ["c", "d"], gold=[(0, 0), (1, 1)])
    assert len(ax.lines) == 2
    plt.close("all")


def test_show_source_is_the_packages_own_text_without_its_docstring():
    source = viz.show_source(softmax)
    assert "def softmax(" in source.text
    assert '"""' not in source.text
    assert '"""' in viz.show_source(softmax, docstring=True).text
    assert source._repr_mimebundle_()["text/markdown"].startswith("```python\ndef softmax(")


def test_show_source_refuses_what_has_no_source():
    with pytest.raises(TypeError, match="each argument must be a function or a class; got int"):
        viz.show_source(42)


def test_a_schematic_writes_the_shapes_beside_its_arrows():
    drawing = viz.Schematic(width=4, height=3)
    drawing.arrow((1, 0), (2, 0), (2, 2), label="n x d")
    drawing.box(2, 2.4, "norm")
    drawing.circle(1, 2.4, "+")
    drawn = {text.get_text(): text.get_position() for text in drawing.axes.texts}
    assert drawn.keys() == {"n x d", "norm", "+"}
    assert drawn["n x d"] == (2.15, 1.0)  # right of the middle of the last piece
    assert len(drawing.axes.patches) == 3 and len(drawing.axes.lines) == 1
    plt.close(drawing.figure)


class View:
    """What `display(..., display_id=True)` gives back in a notebook."""

    def __init__(self):
        self.shown = []

    def update(self, picture):
        self.shown.append(picture)


def test_a_live_curve_is_one_picture_that_grows(monkeypatch):
    view = View()

    def display(picture, display_id):
        view.update(picture)
        return view

    monkeypatch.setattr("attnlib.viz.live.display", display)
    watch = viz.live_curve(steps=7, every=3)
    for step in range(1, 8):
        watch(step, 5.0 - step)
    svgs = [picture.svg for picture in view.shown]
    assert len(svgs) == 3, "after steps 3 and 6, and at the end"
    points = [re.search(r'<g id="losses">.*?</g>', svg, re.S)[0].count("<use") for svg in svgs]
    assert points == [3, 6, 7]
    assert not plt.get_fignums()


def test_a_live_curve_without_a_notebook_is_shown_once(monkeypatch):
    shown = []
    monkeypatch.setattr("attnlib.viz.live.display", lambda picture, display_id: shown.append(picture))
    watch = viz.live_curve(steps=100, every=2)
    for step in range(1, 101):
        watch(step, 1.0)
    assert len(shown) == 1
