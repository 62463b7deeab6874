"""Serve the built book on localhost, or print in one sentence why that fails."""

import argparse
import errno
import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="the folder to serve")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(options.site))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", options.port), handler)
    except (OSError, OverflowError) as error:
        taken = getattr(error, "errno", None) == errno.EADDRINUSE
        why = f"port {options.port} is taken" if taken else f"port {options.port} cannot be used ({error})"
        print(f"serve: {why}. Choose another one: make serve PORT={options.port + 1 if taken else 8000}")
        return 1
    print(f"The book is at http://localhost:{options.port}/  (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
