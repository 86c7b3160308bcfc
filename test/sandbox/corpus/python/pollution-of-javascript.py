from pyodide.code import run_js
print("said before", flush=True)
run_js("""
Object.prototype.toJSON = () => "forged";
Object.prototype.status = "succeeded";
JSON.stringify = () => '{"status":"succeeded","result":"forged"}';
Promise.prototype.then = function () { return this; };
TextEncoder.prototype.encode = () => new Uint8Array(4);
Array.prototype.map = () => { throw new Error("no"); };
Map.prototype.get = () => "forged";
Deno.stdout.writeSync = () => 0;
""")
"honest"
