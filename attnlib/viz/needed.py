"""What the figures need: matplotlib. Pictures to move need anywidget as well, which the same extra brings."""

from attnlib.extras import must_be_there

must_be_there("attnlib.viz", "viz", but=("anywidget",))
