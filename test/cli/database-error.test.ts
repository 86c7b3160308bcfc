import { expect, it } from "vitest";
import { CommandError } from "../../src/cli/command.ts";
import { explainDatabaseError } from "../../src/cli/database.ts";

it("explains a lock timeout without the password", () => {
  const blocked = Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });
  const error = explainDatabaseError(blocked, "postgres://owner:secret@db.example:5432/toolgate");
  expect(error).toBeInstanceOf(CommandError);
  expect(String(error)).toMatch(/db\.example:5432 is locked .* repeat this after it ends/);
  expect(String(error)).not.toContain("secret");
});
