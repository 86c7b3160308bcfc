import os, tempfile
def write(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("x")
attempt("a file of the host", lambda: write("{{dir}}/written-by-python"))
attempt("a temporary file", lambda: write("/tmp/sandbox-python-{{port}}"))
attempt("its home", lambda: write(os.path.expanduser("~/.profile")))
attempt("tempfile", lambda: tempfile.mkstemp() and None)
attempt("os.remove", lambda: os.remove("{{file}}") or "removed")
attempt("os.rename", lambda: os.rename("{{file}}", "{{file}}.renamed") or "renamed")
attempt("os.truncate", lambda: os.truncate("{{file}}", 0) or "truncated")
