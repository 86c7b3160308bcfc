from pyodide.code import run_js
async def imported(name, what=""):
    try:
        module = await run_js(f"import({name!r}{what}).then((m) => Object.keys(m).length)")
        print(f"ESCAPED import of {name}: {module}")
    except BaseException as error:
        print(f"tried import of {name}: {type(error).__name__}")
await imported("http://127.0.0.1:{{port}}/module.js")
await imported("https://cdn.jsdelivr.net/pyodide/v0.28.0/full/pyodide.mjs")
await imported("npm:left-pad")
await imported("jsr:@std/path")
await imported("file://{{file}}", ", { with: { type: 'json' } }")
await imported("file://{{file}}", ", { with: { type: 'text' } }")
reads = "import('node:fs').then((fs) => fs.readFileSync('{{file}}', 'utf8'))"
try:
    print("ESCAPED node:fs:", await run_js(reads))
except BaseException as error:
    print(f"tried node:fs: {type(error).__name__}")
