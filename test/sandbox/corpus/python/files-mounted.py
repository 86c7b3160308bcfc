import pyodide_js
FS = pyodide_js.FS
attempt("mountNodeFS", lambda: pyodide_js.mountNodeFS("/host", "/") or __import__("os").listdir("/host/etc"))
def mount(kind, root):
    __import__("os").makedirs("/mounted", exist_ok=True)
    FS.mount(getattr(FS.filesystems, kind), __import__("js").Object.fromEntries([["root", root]]), "/mounted")
    return open("/mounted/" + "{{file}}".split("/")[-1]).read()
attempt("NODEFS", lambda: mount("NODEFS", "{{dir}}"))
attempt("IDBFS", lambda: mount("IDBFS", "{{dir}}"))
attempt("PROXYFS", lambda: mount("PROXYFS", "{{dir}}"))
attempt("WORKERFS", lambda: mount("WORKERFS", "{{dir}}"))
attempt("the module's file system", lambda: pyodide_js._module.FS.readFile("{{file}}"))
attempt("a device of one's own", lambda: FS.open("{{file}}", "r"))
