import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { query } from "./database-server.ts";
import { type TestDatabase, createTestDatabase } from "./postgres.ts";

describe("a test database", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it("has the current schema: there is nothing left to migrate", async () => {
    expect(await migrate(database.url)).toEqual({ applied: [] });
  });

  it("is the test's own: another one does not see its tables", async () => {
    const other = await createTestDatabase();
    await query(database.url, "CREATE TABLE mine (x int)");
    await expect(query(other.url, "SELECT x FROM mine")).rejects.toThrow('relation "mine" does not exist');
    await other.drop();
  });

  it("is created concurrently with others, because nothing connects to the template", async () => {
    const databases = await Promise.all(Array.from({ length: 6 }, createTestDatabase));
    expect(new Set(databases.map((each) => each.url)).size).toBe(6);
    await Promise.all(databases.map((each) => each.drop()));
  });

  it("can be dropped under an open connection", async () => {
    const crashing = await createTestDatabase();
    const pending = query(crashing.url, "SELECT pg_sleep(30)").catch((error: unknown) => error);
    await expect
      .poll(() =>
        query(
          database.url,
          `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND datname <>
            current_database()`,
        ).then((r) => r.rowCount),
      )
      .toBe(1);
    await crashing.drop();
    expect(await pending).toBeInstanceOf(Error);
  });

  it("commits durably", async () => {
    const { rows } = await query(
      database.url,
      "SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit",
    );
    expect(rows).toEqual([{ fsync: "on", commit: "on" }]);
  });
});
