import js
from pyodide.code import run_js
for name in ["read", "write", "net", "env", "run", "sys", "ffi", "import"]:
    attempt(f"request of {name}", lambda: run_js(f"Deno.permissions.requestSync({{ name: '{name}' }}).state") == "granted")
attempt("a read after it", lambda: js.Deno.readTextFileSync("{{file}}"))
attempt("the worker's arguments", lambda: " ".join(js.Deno.args))
