import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { frameOf, Worker } from "../../../src/sandbox/process/worker.ts";
import { isolations } from "../isolations.ts";
import { NEVER, selfTestParts } from "./bench.ts";

/** Uses everything that could load drivers, name service modules or other libraries, and keeps it loaded. */
const LOADS = `
import dns from "node:dns";
import os from "node:os";
const adapter = "(await (globalThis.held = navigator.gpu)?.requestAdapter())?.info?.vendor";
const source = new Blob(["postMessage(" + adapter + ")"]);
const inWorker = new Worker(URL.createObjectURL(source), { type: "module" });
const vendors = [await (0, eval)("(async () => " + adapter + ")()")];
vendors.push(
  await new Promise((resolve) => {
    inWorker.onmessage = ({ data }) => resolve(data);
    inWorker.onerror = ({ message }) => resolve(message);
  }),
);
for (const act of [os.userInfo, os.homedir, Deno.uid, () => Deno.dlopen("libEGL.so.1", {})]) try { act(); } catch {}
await new Promise((resolve) => dns.lookup("toolgate.test", resolve));
new TextDecoder("shift_jis").decode(new Uint8Array([0x83, 0x65]));
console.log("found " + JSON.stringify(vendors));
await new Promise((go) => setTimeout(go, 60_000));
`;

/** Libraries Deno is linked with. */
const OWN = /^(deno|ld-linux-.*|lib(c|m|dl|rt|pthread|gcc_s)[.-].*)$/;

/** Executable files mapped by a process, read as its own user. */
function librariesOf(pid: number): string[] {
  const asGuest =
    process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  const [command, ...args] = [...asGuest, "cat", `/proc/${pid}/maps`];
  const lines = spawnSync(command ?? "", args, { encoding: "utf8" }).stdout.split("\n");
  const files = lines.flatMap((line) => /^\S+ ..x. .*? (\/.*)$/.exec(line)?.[1] ?? []);
  return [...new Set(files.map((file) => path.basename(file.trim())))];
}

describe.each(isolations())("a guest, isolation $isolation", ({ isolation }) => {
  // A web worker may not start on a machine with little memory.
  const options = { timeout: 180_000, retry: 2 };
  it("maps no host library except those Deno is linked with", options, async () => {
    const { line: limited } = await selfTestParts(isolation);
    // A second thread exceeds the guests' memory.
    const [command, ...args] = limited;
    const line = [command, ...args.map((arg) => arg.replace(/ulimit -d \d+ && /, ""))] as const;
    const worker = await Worker.start({
      language: "javascript",
      line,
      input: [],
      timeoutMs: 60_000,
      signal: NEVER,
    });
    try {
      const found = new Promise<string>((resolve) => {
        worker.process.onStdout = (bytes) => resolve(bytes.toString());
      });
      worker.process.write(frameOf({ code: LOADS, nonce: "0" }));
      expect(await Promise.race([found, worker.process.closed])).toBe("found [null,null]\n");
      const libraries = librariesOf(worker.leaf);
      expect(libraries).toContain("deno");
      expect(libraries.filter((name) => !OWN.test(name))).toEqual([]);
    } finally {
      worker.end();
    }
  });
});
