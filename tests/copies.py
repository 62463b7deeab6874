"""Processes that are copies of one that has loaded PyTorch and done nothing with it: quick, and without its threads.

Loading takes two seconds. The first optimizer would load PyTorch's compiler, so that is loaded as well.
"""

import multiprocessing

FRESH = multiprocessing.get_context("forkserver")
FRESH.set_forkserver_preload(["attnlib.train.fit", "attnlib.train.parallel", "torch._dynamo"])
