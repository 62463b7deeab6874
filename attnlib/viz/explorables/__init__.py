"""Interactive pictures, each with a question that a reader answers by changing it.

from attnlib.viz.explorables import SoftmaxTemperature
picture = SoftmaxTemperature(tokens, scores)
viz.explore(picture, alt="What the figure shows where no script runs.")
picture.scores                       # as the reader has dragged them; setting them changes the picture

One class and one script each. CONTRIBUTING.md says how to add one.
"""

try:
    import anywidget  # noqa: F401  first, so that its absence gives one clear message
except ImportError as error:
    raise ImportError(
        "attnlib.viz.explorables: an explorable needs the package anywidget, which is not installed. "
        "Run: pip install anywidget"
    ) from error

from attnlib.viz.explorables.base import Explorable
from attnlib.viz.explorables.block_flow import BlockFlow
from attnlib.viz.explorables.block_years import BlockYears
from attnlib.viz.explorables.compute_valley import ComputeValley
from attnlib.viz.explorables.cross_viewer import CrossViewer
from attnlib.viz.explorables.decoding_tree import DecodingTree
from attnlib.viz.explorables.filling_state import FillingState
from attnlib.viz.explorables.float_formats import FloatFormats
from attnlib.viz.explorables.head_viewer import HeadViewer
from attnlib.viz.explorables.label_smoothing import LabelSmoothing
from attnlib.viz.explorables.length_and_accuracy import LengthAndAccuracy
from attnlib.viz.explorables.mask_painter import MaskPainter
from attnlib.viz.explorables.merge_steps import MergeSteps
from attnlib.viz.explorables.near_duplicates import NearDuplicates
from attnlib.viz.explorables.optimiser_race import OptimiserRace
from attnlib.viz.explorables.pattern_painter import PatternPainter
from attnlib.viz.explorables.permuted_tokens import PermutedTokens
from attnlib.viz.explorables.pipeline_schedule import PipelineSchedule
from attnlib.viz.explorables.query_in_the_plane import QueryInThePlane
from attnlib.viz.explorables.schedule_designer import ScheduleDesigner
from attnlib.viz.explorables.scores_and_width import ScoresAndWidth
from attnlib.viz.explorables.softmax_temperature import SoftmaxTemperature
from attnlib.viz.explorables.turned_hands import TurnedHands

__all__ = [
    "BlockFlow",
    "BlockYears",
    "ComputeValley",
    "CrossViewer",
    "DecodingTree",
    "Explorable",
    "FillingState",
    "FloatFormats",
    "HeadViewer",
    "LabelSmoothing",
    "LengthAndAccuracy",
    "MaskPainter",
    "MergeSteps",
    "NearDuplicates",
    "OptimiserRace",
    "PatternPainter",
    "PermutedTokens",
    "PipelineSchedule",
    "QueryInThePlane",
    "ScheduleDesigner",
    "ScoresAndWidth",
    "SoftmaxTemperature",
    "TurnedHands",
]
