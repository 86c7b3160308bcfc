import process from "node:process";
import { describe, expect, it } from "vitest";

// Loaded without an import, so that this file is a unit test itself.
const net = process.getBuiltinModule("node:net");
const dgram = process.getBuiltinModule("node:dgram");
const workers = process.getBuiltinModule("node:worker_threads");
const children = process.getBuiltinModule("node:child_process");

describe("a unit test", () => {
  it.each([
    ["connect a socket", () => net.connect(1, "127.0.0.1")],
    ["listen on a port", () => net.createServer().listen(0)],
    ["make a datagram socket", () => dgram.createSocket("udp4")],
    ["start a thread", () => new workers.Worker("", { eval: true })],
    ["start a program", () => children.spawn("true")],
    ["start a shell", () => children.exec("true")],
    ["fork itself", () => children.fork("nothing.mjs")],
    ["wait for a program", () => children.spawnSync("true")],
    ["wait for a shell", () => children.execSync("true")],
  ])("cannot %s", (_what, tries) => {
    expect(tries).toThrow(/^A unit test .* A system test imports what does so/);
  });

  it("cannot fetch", async () => {
    const error = await fetch("http://127.0.0.1:12345/").catch((failed: unknown) => failed);
    expect(String(error instanceof Error ? (error.cause ?? error) : error)).toContain(
      "A unit test connects a socket",
    );
  });
});
