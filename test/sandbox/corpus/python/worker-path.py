from pyodide.code import run_js
attempt("the path of the main module", lambda: run_js("Deno.mainModule.includes('{{root}}') && Deno.mainModule"))
