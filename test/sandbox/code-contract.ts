import { describe, expect, it } from "vitest";
import type { SandboxEngine, SandboxLanguage, SandboxOutcome } from "../../src/domain/tools/sandbox.ts";
import { job } from "./contract-code.ts";

type Both = Readonly<Record<SandboxLanguage, string>>;

/** The longest code with long input that writes to both outputs and returns a lone surrogate. */
const WORKS: Both = {
  javascript: `//${"x".repeat(200_000)}
console.log("said");
console.error("complained");
const read = (await new Response(Deno.stdin.readable).text()).split("\\n");
const list = [1, 2.5, null];
export default await Promise.resolve({ read: [read[0], read[1].length], list, "\\ud800": "a\\udc00b", yes: true });`,
  python: `#${"x".repeat(200_000)}
import sys
print("said")
print("complained", file=sys.stderr)
read = sys.stdin.read().split("\\n")
{"read": [read[0], len(read[1])], "list": [1, 2.5, None], "\\ud800": "a\\udc00b", "yes": True}`,
};
const INPUT = `zwölf 🚲\n${"y".repeat(200_000)}`;
const TELLS_WHAT_JSON_CANNOT: Both = { javascript: `export default () => 1;`, python: `object()` };
const THROWS: Both = {
  javascript: `console.log("before");\nfunction inner() { throw new TypeError("nope"); }\ninner();`,
  python: `print("before")\ndef inner():\n    raise TypeError("nope")\ninner()`,
};
const CANNOT_BE_READ: Both = { javascript: `export default (;`, python: `def (` };
/** Plants state that the next execution must not see. */
const EXITS: Both = {
  javascript: `console.log("leaving");\nglobalThis.planted = Array.prototype.planted = 1;\nDeno.exit(3);`,
  python:
    `import builtins, sys\nbuiltins.planted = 1\nopen("/tmp/planted", ` +
    `"w").write("1")\nprint("leaving")\nsys.exit(3)`,
};
const SPEAKS_AND_HANGS: Both = {
  javascript: `console.log("before"); for (;;);`,
  python: `print("before", flush=True)\nwhile True: pass`,
};
const CHATTERS: Both = {
  javascript: `console.log("first"); for (;;) console.log("x".repeat(10_000));`,
  python: `print("first")\nwhile True: print("x" * 10_000)`,
};
const HOARDS: Both = {
  javascript: `const all = []; for (;;) all.push(new Uint8Array(16 << 20).fill(1));`,
  python: `all = []\nwhile True: all.append(b"x" * (16 << 20))`,
};
const LOOKS: Both = {
  javascript: `export default [typeof planted, [].planted === undefined];`,
  python: `import os, builtins\n[hasattr(builtins, "planted"), os.path.exists("/tmp/planted")]`,
};
const NOTHING_PLANTED = { javascript: ["undefined", true], python: [false, false] };
/**
 * Observable behaviour of code and its report, in both languages.
 * @param brief languages tested only for essentials, because their interpreter starts slowly
 */
export function codeContract(engine: () => SandboxEngine, brief: readonly SandboxLanguage[]): void {
  describe.each(["javascript", "python"] as const)("code in %s", (language) => {
    const run = async (code: Both, more = {}): Promise<SandboxOutcome> => {
      const { done } = await engine().start(
        job(code[language], language, more),
        new AbortController().signal,
      );
      return done;
    };

    it("returns stdout, stderr and a value with well-formed text", async () => {
      expect(await run(WORKS, { stdin: INPUT, timeoutMs: 20_000 })).toMatchObject({
        ...{ status: "succeeded", stdout: "said\n", stderr: "complained\n", exitCode: 0, error: null },
        result: { read: ["zwölf 🚲", 200_000], list: [1, 2.5, null], "\ufffd": "a\ufffdb", yes: true },
      });
    });

    it("returns the exit code and keeps nothing for the next execution", async () => {
      expect(await run(EXITS)).toMatchObject({ status: "failed", stdout: "leaving\n", exitCode: 3 });
      expect((await run(LOOKS)).result).toEqual(NOTHING_PLANTED[language]);
    });

    describe.runIf(!brief.includes(language))("slow cases", () => {
      it("returns the thrown error and the output before it", async () => {
        const outcome = await run(THROWS);
        expect(outcome).toMatchObject({ status: "failed", stdout: "before\n", result: null });
        expect(outcome.error).toMatchObject({ name: "TypeError", value: "nope" });
        expect(outcome.error?.traceback).toContain("inner");
        expect(outcome.exitCode).not.toBe(0);
      });

      it("keeps the output before a timeout", async () => {
        const outcome = await run(SPEAKS_AND_HANGS, { timeoutMs: 2_000 });
        expect(outcome).toMatchObject({ status: "timeout", stdout: "before\n", exitCode: null });
      });

      it("returns null for a value JSON cannot express", async () => {
        expect(await run(TELLS_WHAT_JSON_CANNOT)).toMatchObject({ status: "succeeded", result: null });
      });

      it("reports unparsable code", async () => {
        expect(await run(CANNOT_BE_READ)).toMatchObject({ status: "failed", error: { name: "SyntaxError" } });
      });

      it("stops code at the output limit and keeps the beginning", async () => {
        const outcome = await run(CHATTERS);
        expect(outcome).toMatchObject({ status: "output_limit", stdoutTruncated: true, exitCode: null });
        expect(outcome.stdout.startsWith("first\nxxxx")).toBe(true);
      });

      it("enforces the memory limit", async () => {
        expect(["memory_limit", "failed"]).toContain((await run(HOARDS)).status);
      });
    });
  });

  it("runs TypeScript as JavaScript", async () => {
    const { done } = await engine().start(
      job(`interface Point { x: number }\nconst at: Point = { x: 3 };\nexport default at.x as number;`),
      new AbortController().signal,
    );
    expect((await done).result).toBe(3);
  });
}
