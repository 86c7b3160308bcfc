import builtins, js, os, sys
attempt("builtins", lambda: getattr(builtins, "planted", None))
attempt("a module", lambda: sys.modules.get("planted"))
attempt("a global of JavaScript", lambda: getattr(js.globalThis, "planted", None))
attempt("the environment", lambda: os.environ.get("PLANTED"))
attempt("files", lambda: [place for place in ["/tmp/planted", os.path.expanduser("~/planted"), "/planted", "/dev/shm/planted"] if os.path.exists(place)])
attempt("a file to import", lambda: __import__("planted").value)
