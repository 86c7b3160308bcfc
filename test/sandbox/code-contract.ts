import { describe, expect, it } from "vitest";
import type { SandboxEngine, SandboxLanguage, SandboxOutcome } from "../../src/domain/sandbox.ts";
import { job } from "./contract-code.ts";

type Both = Readonly<Record<SandboxLanguage, string>>;

const SPEAKS: Both = {
  javascript: `console.log("said"); console.error("complained");`,
  python: `import sys\nprint("said")\nprint("complained", file=sys.stderr)`,
};
const READS: Both = {
  javascript: `export default (await new Response(Deno.stdin.readable).text()).split("\\n");`,
  python: `import sys\nsys.stdin.read().split("\\n")`,
};
const TELLS: Both = {
  javascript: `export default await Promise.resolve({ list: [1, 2.5, null], text: "grüße 🚲", yes: true });`,
  python: `{"list": [1, 2.5, None], "text": "grüße 🚲", "yes": True}`,
};
const TELLS_WHAT_JSON_CANNOT: Both = { javascript: `export default () => 1;`, python: `object()` };
const TELLS_HALF_A_PAIR: Both = {
  javascript: `export default { "\\ud800": "a\\udc00b" };`,
  python: `{"\\ud800": "a\\udc00b"}`,
};
const THROWS: Both = {
  javascript: `console.log("before");\nfunction inner() { throw new TypeError("nope"); }\ninner();`,
  python: `print("before")\ndef inner():\n    raise TypeError("nope")\ninner()`,
};
const CANNOT_BE_READ: Both = { javascript: `export default (;`, python: `def (` };
const EXITS: Both = {
  javascript: `console.log("leaving");\nDeno.exit(3);`,
  python: `import sys\nprint("leaving")\nsys.exit(3)`,
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
const PLANTS: Both = {
  javascript: `globalThis.planted = 1; Array.prototype.planted = 1; export default "done";`,
  python: `import builtins\nbuiltins.planted = 1\nopen("/tmp/planted", "w").write("1")\n"done"`,
};
const LOOKS: Both = {
  javascript: `export default [typeof planted, [].planted === undefined];`,
  python: `import os, builtins\n[hasattr(builtins, "planted"), os.path.exists("/tmp/planted")]`,
};
const CLEAN = { javascript: ["undefined", true], python: [false, false] };
const LONG: Both = {
  javascript: `//${"x".repeat(200_000)}\nexport default "read";`,
  python: `#${"x".repeat(200_000)}\n"read"`,
};

/** What the code of an execution sees and what is told of it, in both languages. */
export function codeContract(engine: () => SandboxEngine): void {
  describe.each(["javascript", "python"] as const)("with code in %s", (language) => {
    const run = async (code: Both, more = {}): Promise<SandboxOutcome> => {
      const { done } = await engine().start(job(code[language], language, more), new AbortController().signal);
      return done;
    };

    it("tells what it said and what it complained of apart", async () => {
      const outcome = await run(SPEAKS);
      expect(outcome).toMatchObject({ status: "succeeded", stdout: "said\n", stderr: "complained\n", result: null });
    });

    it("lets it read its input to the end", async () => {
      expect((await run(READS, { stdin: "one\nzwölf\n" })).result).toEqual(["one", "zwölf", ""]);
      expect((await run(READS)).result).toEqual([""]);
    });

    it("gives its value as JSON, or null", async () => {
      expect((await run(TELLS)).result).toEqual({ list: [1, 2.5, null], text: "grüße 🚲", yes: true });
      expect(await run(TELLS_WHAT_JSON_CANNOT)).toMatchObject({ status: "succeeded", result: null });
    });

    it("gives only well-formed text", async () => {
      const { status, result } = await run(TELLS_HALF_A_PAIR);
      expect(status).toBe("succeeded");
      expect(wellFormed(result)).toBe(true);
    });

    it("tells what it threw, and what it said before", async () => {
      const outcome = await run(THROWS);
      expect(outcome).toMatchObject({ status: "failed", stdout: "before\n", result: null });
      expect(outcome.error).toMatchObject({ name: "TypeError", value: "nope" });
      expect(outcome.error?.traceback).toContain("inner");
      expect(outcome.exitCode).not.toBe(0);
    });

    it("tells that it could not be read", async () => {
      expect(await run(CANNOT_BE_READ)).toMatchObject({ status: "failed", error: { name: "SyntaxError" } });
    });

    it("tells the code it exits with", async () => {
      expect(await run(EXITS)).toMatchObject({ status: "failed", stdout: "leaving\n", exitCode: 3 });
    });

    it("keeps what it said before it took too long", async () => {
      const outcome = await run(SPEAKS_AND_HANGS, { timeoutMs: 700 });
      expect(outcome).toMatchObject({ status: "timeout", stdout: "before\n", exitCode: null });
    });

    it("ends it when it says too much, and keeps the beginning", async () => {
      const outcome = await run(CHATTERS);
      expect(outcome).toMatchObject({ status: "output_limit", stdoutTruncated: true, exitCode: null });
      expect(outcome.stdout.startsWith("first\nxxxx")).toBe(true);
    });

    it("does not let it take more memory than it may", async () => {
      expect(["memory_limit", "failed"]).toContain((await run(HOARDS)).status);
    });

    it("leaves nothing of it to the next", async () => {
      expect((await run(PLANTS)).result).toBe("done");
      expect((await run(LOOKS)).result).toEqual(CLEAN[language]);
    });

    it("takes long code and long input", async () => {
      expect((await run(LONG)).result).toBe("read");
      const [first] = (await run(READS, { stdin: "y".repeat(200_000) })).result as string[];
      expect(first).toHaveLength(200_000);
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

/** Whether every text in a JSON value, names included, is well-formed Unicode. */
function wellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(wellFormed);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && wellFormed(member));
}
