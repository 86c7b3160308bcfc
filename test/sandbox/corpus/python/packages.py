import importlib, pyodide_js
async def soon(what, act):
    try:
        got = await act()
        print(f"ESCAPED {what}" if got else f"tried {what}")
    except BaseException as error:
        print(f"tried {what}: {type(error).__name__}")
async def loaded(name):
    await pyodide_js.loadPackage(name)
    return importlib.util.find_spec("micropip") if name == "micropip" else __import__(name)
async def from_packages(source):
    await pyodide_js.loadPackagesFromImports(source)
    return __import__("numpy")
import importlib.util
await soon("loadPackage micropip", lambda: loaded("micropip"))
await soon("loadPackage of an address", lambda: pyodide_js.loadPackage("http://127.0.0.1:{{port}}/x-1-py3-none-any.whl") )
await soon("loadPackagesFromImports", lambda: from_packages("import numpy"))
attempt("pip", lambda: __import__("pip") and "there")
attempt("ensurepip", lambda: __import__("ensurepip").bootstrap() or "there")
