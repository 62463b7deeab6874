# Setup: on Colab this installs the course's package; elsewhere it does nothing.
import importlib.util, os, subprocess, sys  # noqa: E401, I001
if importlib.util.find_spec("attnlib") is None:
    book = "git+https://github.com/attention-executed/attention-executed"
    pip = [sys.executable, "-m", "pip", "install", "-qqq", "--no-deps"]
    if subprocess.run([*pip, os.environ.get("ATTNLIB_SOURCE", book)]).returncode:
        sys.exit("attnlib cannot be installed: check the network, run this again.")
    importlib.invalidate_caches()
