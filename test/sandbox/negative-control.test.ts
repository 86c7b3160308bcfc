import { describe, expect, it } from "vitest";
import { startCanaryHost, type CanaryHost } from "./corpus/canary-host.ts";
import type { Case } from "./corpus/case.ts";
import { CASES, codeOf, filled } from "./corpus/cases.ts";
import { escapesIn } from "./corpus/judge.ts";
import { programOf } from "./corpus/run-cases.ts";
import { runUnwalled } from "./no-isolation.ts";

const BITING = CASES.filter((one) => one.bites !== undefined);
const IN_PYTHON = BITING.filter(({ language }) => language === "python");

// Proves that the corpus can detect successful attacks.
describe("corpus without isolation", () => {
  it.concurrent.for(BITING.filter(({ language }) => language === "javascript"))(
    "reports that $name succeeded",
    async (one) => {
      // Open listeners keep the process alive.
      await expectEscapes([one], async (host) => {
        const code = await codeOf(one, host.values);
        return `${code}\nsetTimeout(() => Deno.exit(0), 200);\n`;
      });
    },
  );

  it.concurrent("reports that Python attacks succeeded", async () => {
    await expectEscapes(IN_PYTHON, (host) => programOf(IN_PYTHON, host.values));
  });
});

/** Runs cases without isolation; their attacks must succeed. */
async function expectEscapes(
  cases: readonly Case[],
  code: (host: CanaryHost) => Promise<string>,
): Promise<void> {
  const host = await startCanaryHost();
  try {
    const said = await runUnwalled(cases[0]!.language, await code(host), host.values.dir!);
    for (const bite of cases.flatMap(({ bites = [] }) => bites)) {
      const line = `ESCAPED ${filled(bite, host.values)}`;
      expect(escapesIn(said)).toContainEqual(expect.stringContaining(line));
    }
  } finally {
    await host.end();
  }
}
