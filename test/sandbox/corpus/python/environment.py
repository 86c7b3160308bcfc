import os, getpass, platform, socket
attempt("PATH of the host", lambda: os.environ.get("SANDBOX_TEST_SECRET"))
attempt("all of os.environ", lambda: "{{secret}}" in str(dict(os.environ)))
attempt("the name of the host", lambda: "{{hostname}}" in (platform.node(), socket.gethostname()))
attempt("js process.env", lambda: __import__("js").process.env.SANDBOX_TEST_SECRET if hasattr(__import__("js"), "process") else None)
attempt("Deno.env", lambda: __import__("js").Deno.env.toObject() and "read")
