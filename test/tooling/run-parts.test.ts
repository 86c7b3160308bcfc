import { describe, expect, it } from "vitest";

import type { Finished } from "./command.ts";
import { command } from "./command.ts";
import type { Part } from "./parts.ts";
import { runParts } from "./run-parts.ts";

const held: Part = part("held", { code: 0, output: "a line without use\n" });
const broke: Part = part("broke", { code: 2, output: "first line\nsecond line\n" });

function part(name: string, end: Finished): Part {
  return { name, run: () => Promise.resolve(end) };
}

async function written(parts: readonly Part[]): Promise<{ text: string; passed: number; failed: number }> {
  let text = "";
  const tally = await runParts(parts, { write: (more) => (text += more) });
  return { text, ...tally };
}

describe("npm run check", () => {
  it("prints one line for a successful part, without its output", async () => {
    const { text, passed, failed } = await written([held]);
    expect(text).toMatch(/^ok\s+held\s+\d+\.\d s\n$/);
    expect({ passed, failed }).toEqual({ passed: 1, failed: 0 });
  });

  it("prints the output of a failed part and continues", async () => {
    const { text, passed, failed } = await written([broke, held]);
    expect(text).toMatch(/FAIL broke\s+\d+\.\d s\n {5}first line\n {5}second line\n/);
    expect({ passed, failed }).toEqual({ passed: 1, failed: 1 });
  });

  it("counts a part that throws as failed", async () => {
    const thrown: Part = { name: "thrown", run: () => Promise.reject(new Error("no space left")) };
    const { text, failed } = await written([thrown]);
    expect(text).toContain("Error: no space left");
    expect(failed).toBe(1);
  });

  it("fails a part that does not end and continues without it", async () => {
    let aborted = false;
    const stuck: Part = {
      name: "stuck",
      run: (signal) => {
        signal?.addEventListener("abort", () => (aborted = true));
        return new Promise(() => {});
      },
    };
    let text = "";
    const tally = await runParts([stuck, held], { write: (more) => (text += more) }, undefined, 50);
    expect(tally).toEqual({ passed: 1, failed: 1 });
    expect(text).toContain("HUNG stuck: not at its end after 0 s");
    expect(aborted).toBe(true);
  });

  it("runs at most two parts at once", async () => {
    let running = 0;
    let most = 0;
    const slow: Part = {
      name: "slow",
      run: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { code: 0, output: "" };
      },
    };
    await written([slow, slow, slow, slow, slow]);
    expect(most).toBe(2);
  });

  it.each([
    ["is missing", "a-tool-that-nobody-installed", [], "a-tool-that-nobody-installed"],
    ["is ended by a signal", "node", ["-e", "process.kill(process.pid, 'SIGKILL')"], "ended by SIGKILL"],
  ])("fails when a tool %s", async (_what, tool, args, says) => {
    const { code, output } = await command(tool, args);
    expect(code).toBe(1);
    expect(output).toContain(says);
  });

  it("ends a running tool on abort", async () => {
    const stop = new AbortController();
    const ended = command("node", ["-e", "setInterval(() => {}, 1000)"], { signal: stop.signal });
    stop.abort();
    expect((await ended).code).toBe(1);
  });
});
