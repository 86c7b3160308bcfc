import sys, js
from pyodide.code import run_js
def frames():
    frame, found = sys._getframe(), []
    while frame:
        found.append(frame.f_code.co_filename)
        frame = frame.f_back
    return found
attempt("names of the host in frames", lambda: [name for name in frames() if "{{root}}" in name])
attempt("globals of JavaScript", lambda: [name for name in js.Object.keys(js.globalThis) if "nonce" in name.lower() or "secret" in name.lower()])
attempt("the secret of the host in memory", lambda: any("{{secret}}"[::-1][::-1] == value for value in sys.modules["os"].environ.values()))
attempt("source of the worker", lambda: run_js("Deno.readTextFileSync(new URL(Deno.mainModule))"))
attempt("functions on the stack", lambda: run_js("(() => { Error.prepareStackTrace = (_, sites) => sites; const sites = new Error().stack; Error.prepareStackTrace = undefined; return Array.isArray(sites) && sites.map((s) => s.getFunction?.()).some((f) => typeof f === 'function' && !String(f).includes('prepareStackTrace')); })()"))
