import { expect, it } from "vitest";
import { CommandError } from "../../src/cli/command-error.ts";
import { explainDatabaseError } from "../../src/cli/database-error.ts";

it("a command that finds a table in use for too long says what to do, and names no password", () => {
  const blocked = Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });
  const told = explainDatabaseError(blocked, "postgres://owner:secret@db.example:5432/toolgate");
  expect(told).toBeInstanceOf(CommandError);
  expect(String(told)).toMatch(/db\.example:5432 is in use .* repeat this once it has/);
  expect(String(told)).not.toContain("secret");
});
