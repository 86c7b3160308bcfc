const reads = `postMessage(Deno.readTextFileSync("{{file}}"))`;
console.log("started");
const worker = new Worker(`data:text/javascript,${encodeURIComponent(reads)}`, {
  type: "module",
  deno: { permissions: { read: true, write: true, net: true, env: true, run: true, ffi: true, sys: true } },
});
worker.onmessage = ({ data }) => console.log(`ESCAPED ${data}`);
