import os
def opened(fd):
    try:
        return os.fstat(fd) and os.read(fd, 1)
    except OSError:
        return None
attempt("reading descriptors", lambda: [fd for fd in range(3, 64) if opened(fd)])
def written(fd):
    try:
        return os.write(fd, b"x")
    except OSError:
        return 0
attempt("writing descriptors", lambda: [fd for fd in range(10, 64) if written(fd)])
attempt("writing descriptors of JavaScript", lambda: __import__("pyodide.code").code.run_js("(() => { let n = 0; for (let fd = 3; fd < 64; fd++) try { process.getBuiltinModule('fs').writeSync(fd, 'x'); n++ } catch {} return n })()"))
"honest"
