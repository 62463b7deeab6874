# Setup: on Colab this installs the course's package; everywhere it keeps to one thread, unless you have set how many.
import importlib.util, os, subprocess, sys  # noqa: E401, I001
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of several programs would wait for each other
if importlib.util.find_spec("attnlib") is None:
    book = os.environ.get("ATTNLIB_SOURCE", "git+https://github.com/attention-executed/attention-executed")
    if subprocess.run([sys.executable, "-m", "pip", "install", "-qqq", "--no-deps", book]).returncode:
        sys.exit("attnlib cannot be installed: check the network, run this again.")
    importlib.invalidate_caches()
