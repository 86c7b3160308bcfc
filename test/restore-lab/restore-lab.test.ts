import { expect, it } from "vitest";
import { missingPackages } from "../support/programs.ts";
import { command } from "../tooling/command.ts";

it("restores a database under load by the guide's commands", async ({ skip }) => {
  const missing = missingPackages("pgbackrest");
  if (missing.length > 0) return skip(`not installed: ${missing.join(", ")}`);
  const { code, output } = await command("node", ["test/restore-lab/main.ts", "--short", "--json"]);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('"kind"') });
});
