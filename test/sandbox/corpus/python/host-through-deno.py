import js
from pyodide.code import run_js
attempt("Deno.readTextFileSync", lambda: js.Deno.readTextFileSync("{{file}}"))
attempt("Deno.writeTextFileSync", lambda: js.Deno.writeTextFileSync("{{dir}}/by-python", "x") or "written")
attempt("Deno.Command", lambda: run_js("new Deno.Command('id').outputSync().code === 0"))
attempt("Deno.dlopen", lambda: run_js("Deno.dlopen('libc.so.6', {getpid: {parameters: [], result: 'i32'}}) && 'opened'"))
attempt("process.getBuiltinModule fs", lambda: run_js("process.getBuiltinModule('fs').readFileSync('{{file}}', 'utf8')"))
attempt("process.getBuiltinModule child_process", lambda: run_js("process.getBuiltinModule('child_process').execSync('id').toString()"))
attempt("process.binding", lambda: run_js("process.binding('fs').open('{{file}}', 0, 0)"))
attempt("Deno's inside", lambda: run_js("Deno[Deno.internal].core.ops.op_fs_read_file_text_sync?.('{{file}}')"))
attempt("eval of JavaScript", lambda: js.eval("Deno.readTextFileSync('{{file}}')"))
attempt("a constructor of functions", lambda: js.Function.new("return Deno.readTextFileSync('{{file}}')")())
attempt("require of pyodide", lambda: run_js("require('fs').readFileSync('{{file}}', 'utf8')"))
attempt("sqlite", lambda: run_js("new (process.getBuiltinModule('sqlite').DatabaseSync)('{{dir}}/py.sqlite').exec('CREATE TABLE t (a)') ?? 'made'"))
