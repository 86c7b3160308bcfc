import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readChecksums, readSqlSchema, SQL_FOLDER } from "../../src/postgres/database/sql-files.ts";
import { makeUpSchema, type MadeUpSchema } from "../postgres/database/made-up-schema.ts";
import { sqlProblems, updateChecksums } from "./sql-checksums.ts";

/** The name of a migration after the last one, or later. */
const laterMigration = (ahead: number) =>
  `migrations/${String(readSqlSchema().frozen.length + ahead).padStart(4, "0")}_more.sql`;

const BASELINE = "migrations/0001_baseline.sql";

let schema: MadeUpSchema;
beforeEach(async () => {
  schema = await makeUpSchema();
  await schema.write("checksums.json", JSON.stringify({ version: 1, files: {} }));
  await updateChecksums(schema.folder);
});
afterEach(() => schema.remove());

describe("the checksums of SQL files", () => {
  it("are current in the repository", () => {
    expect(sqlProblems(SQL_FOLDER)).toEqual([]);
  });

  it("refuse a baseline with another text than that of 0.1.0, whatever they say", () => {
    // No database can follow a change of this file. Add a migration, and leave this test as it is.
    expect(readSqlSchema().frozen[0]?.checksum).toBe(
      "1180e886c392517d97604f9d7c1586f591339ce0cf7155ccc7228c8a2788f1ae",
    );
  });

  it("refuse a frozen migration that was changed, and are not updated for it", async () => {
    await schema.write(BASELINE, `${await schema.read(BASELINE)}-- more\n`);
    const frozen = [`${BASELINE}: is frozen and was changed; restore it and add a migration`];
    expect(sqlProblems(schema.folder)).toEqual(frozen);
    expect(await updateChecksums(schema.folder)).toEqual(frozen);
    expect(sqlProblems(schema.folder)).toEqual(frozen);
  });

  it("are stale after a function was changed, until they are updated with a new version", async () => {
    await schema.write("functions/rate_take.sql", "select 1;");
    await schema.write("functions/relay_wait.sql", undefined);
    await schema.write(laterMigration(1), "select 1;");
    expect(sqlProblems(schema.folder).map((line) => line.split(":")[0])).toEqual([
      "functions/rate_take.sql",
      "functions/relay_wait.sql",
      laterMigration(1),
    ]);
    const { version } = readChecksums(schema.folder);
    expect(await updateChecksums(schema.folder)).toEqual([]);
    expect(sqlProblems(schema.folder)).toEqual([]);
    expect(readChecksums(schema.folder).version).toBe(version + 1);
  });

  it("refuse a gap between migrations, and a function that is too long", async () => {
    await schema.write(laterMigration(2), "select 1;");
    await schema.write("functions/rate_take.sql", "--\n".repeat(130));
    expect(sqlProblems(schema.folder)).toEqual([
      `${laterMigration(2)}: migrations are numbered without gaps`,
      "functions/rate_take.sql: has more than 120 lines",
    ]);
  });
});
