import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasPrometheus } from "../../metrics/prometheus.ts";
import { commandsOf, runCommand } from "./page.ts";
import { openStage, type Stage, type Walk } from "./stage.ts";

const hasPsql = spawnSync("psql", ["--version"]).status === 0;
// The rules look back eight seconds; a busy machine takes far longer to give them two figures of that time.
const soon = { timeout: 90_000, interval: 100 };

/** Causes each fault, sees its alerts, runs the commands of their pages, ends it, and sees no alert. */
export function walkThrough(walks: readonly Walk[]): void {
  const needed = "runbooks (apt-get install prometheus postgresql-client)";
  describe.skipIf(!hasPrometheus || !hasPsql)(needed, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    });
    afterAll(() => stage[Symbol.asyncDispose]());

    it.each(walks)("$title", async ({ alerts, cause, remedy, after }) => {
      const names = Object.keys(alerts);
      const firing = () => Promise.all(names.map(async (name) => ((await stage.fires(name)) ? name : "")));
      const none = names.map(() => "");
      // What the walk before caused may still raise one of them.
      await expect.poll(firing, soon).toEqual(none);
      await cause(stage);
      try {
        await expect.poll(firing, soon).toEqual(names);
        for (const [name, shows] of Object.entries(alerts)) {
          // An instance that has just started shows nothing yet.
          const printed = async () => {
            const outputs: string[] = [];
            for (const line of commandsOf(name)) outputs.push(await runCommand(line, stage.machine));
            return outputs.join("\n");
          };
          await expect.poll(printed, { ...soon, message: name }).toMatch(shows);
        }
      } finally {
        await remedy(stage);
      }
      try {
        await expect.poll(firing, soon).toEqual(none);
      } finally {
        await after?.(stage);
      }
    });
  });
}
