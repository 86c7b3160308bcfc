import pyodide.code, pyodide.ffi, _pyodide._base, pyodide_js
print("said before", flush=True)
_pyodide._base.eval_code = _pyodide._base.eval_code_async = lambda *_, **__: "forged"
pyodide.ffi.to_js = lambda *_, **__: "forged"
pyodide_js.runPythonAsync = pyodide_js.toPy = None
pyodide_js._api.fatal_error = None
raise ValueError("thrown all the same")
