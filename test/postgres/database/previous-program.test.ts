import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { command } from "../../tooling/command.ts";
import { makeUpSchema, type MadeUpSchema } from "./made-up-schema.ts";

/** Tests of money that an instance of the version before must pass while the database is newer. */
const MONEY = ["test/postgres/ledger/ledger.test.ts"];

/**
 * Runs this program's tests of money on another schema. After a release the same command in a checkout of
 * that release, with TEST_SCHEMA set to this checkout's SQL files, tests the version before.
 */
async function passesOn(schema: MadeUpSchema): Promise<boolean> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-previous-"));
  const report = path.join(folder, "report.json");
  try {
    const options = [
      "--config=test/vitest.config.ts",
      "--root=.",
      "--reporter=json",
      `--outputFile.json=${report}`,
    ];
    await command("vitest", ["run", ...options, ...MONEY], {
      env: { TEST_SCHEMA: schema.folder, TEST_POSTGRES: "" },
    });
    const { numPassedTests, success } = JSON.parse(await readFile(report, "utf8")) as {
      numPassedTests: number;
      success: boolean;
    };
    return success && numPassedTests > 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

it("a program passes its tests of money on a second version of the schema, unless that drops what it reads", async () => {
  const next = await makeUpSchema();
  try {
    await next.raise(1);
    await next.write("migrations/0002_made_up.sql", "alter table run add column made_up text;");
    await next.write(
      "functions/made_up.sql",
      "create or replace function made_up() returns integer language sql as 'select 1'; " +
        "revoke execute on function made_up from public;",
    );
    expect(await passesOn(next)).toBe(true);
    await next.write("migrations/0002_made_up.sql", "alter table run rename column owner to made_up;");
    expect(await passesOn(next)).toBe(false);
  } finally {
    await next.remove();
  }
});
