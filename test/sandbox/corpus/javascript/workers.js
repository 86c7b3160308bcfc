const reads = `try { postMessage(Deno.readTextFileSync("{{file}}")) } catch (error) { postMessage("") }`;
const ofDeno = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(`data:text/javascript,${encodeURIComponent(reads)}`, { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => (event.preventDefault(), reject(new Error("refused")));
  });
await attempt("a worker of the web", () => ofDeno());
await attempt("a worker of node", async () => {
  const { Worker: Thread } = await import("node:worker_threads");
  return new Promise((resolve, reject) => {
    const code = `const { parentPort } = require("node:worker_threads"); let text = ""; try { text = require("node:fs").readFileSync("{{file}}", "utf8"); } catch {} parentPort.postMessage(text);`;
    new Thread(code, { eval: true }).on("message", resolve).on("error", reject);
  });
});
await attempt(
  "a worker from a file",
  () =>
    new Promise((resolve, reject) => {
      const worker = new Worker("file://{{dir}}/module.js", { type: "module" });
      worker.onmessage = () => resolve("ran");
      worker.onerror = (event) => (event.preventDefault(), reject(new Error("refused")));
    }),
);
