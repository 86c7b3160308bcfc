import { spawn } from "node:child_process";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { exitOf, firstLine, stopChild, whileRuns } from "./child.ts";

const node = (program: string) => spawn(process.execPath, ["-e", program]);
const STAYS = "setInterval(() => {}, 1000);";

describe("a child of a test", () => {
  it("is ready with its first line", async () => {
    const child = node(`console.log("ready"); console.log("more"); ${STAYS}`);
    expect(await firstLine(child)).toBe("ready");
    await stopChild(child);
    expect(await exitOf(child)).toEqual([null, "SIGTERM"]);
  });

  it.each([
    [
      "process.stderr.write('port taken'); process.exitCode = 3",
      /exit code 3 before it was ready\nport taken/,
    ],
    ["process.kill(process.pid, 'SIGKILL')", /signal SIGKILL before it was ready/],
  ])("fails the wait for a line at its end: %s", async (program, message) => {
    await expect(firstLine(node(program), () => {})).rejects.toThrow(message);
  });

  it("fails the wait for a fact at its end", async () => {
    await expect(whileRuns(node("process.exit(3)"), new Promise(() => {}))).rejects.toThrow("exit code 3");
  });

  it("fails the wait for a line at its end while a process of its own holds its output", async () => {
    const child = node(`
      const { pid } = require("node:child_process").spawn("sleep", ["600"], { stdio: "inherit" });
      process.stderr.write(String(pid), () => process.exit(4));`);
    let pid = "";
    await expect(firstLine(child, (text) => (pid += text))).rejects.toThrow("exit code 4");
    process.kill(Number(pid));
  });

  it("fails the waits for a line and for the end when it cannot start", async () => {
    const child = spawn("/nowhere/program");
    await expect(firstLine(child)).rejects.toThrow("ENOENT");
    await stopChild(child);
  });
});
