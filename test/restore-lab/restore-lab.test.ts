import process from "node:process";
import { expect, it } from "vitest";
import { command } from "../tooling/command.ts";
import { missingPackages } from "./options.ts";

it("restores a database under load by the guide's commands", async ({ skip }) => {
  const missing = missingPackages();
  if (missing.length > 0) return skip(`not installed: ${missing.join(", ")}`);
  const args = ["test/restore-lab/main.ts", "--short", "--json"];
  const { code, output } = await command(process.execPath, args);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('"kind"') });
});
