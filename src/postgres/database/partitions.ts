import type { ClientBase, Pool } from "pg";

/** Makes the missing partitions of this month and the next, each in a transaction of its own. */
export async function makePartitions(database: Pool | ClientBase): Promise<void> {
  while (true) {
    const { rows } = await database.query<{ made: string | null }>("select partitions_make() as made");
    if (typeof rows[0]?.made !== "string") return;
  }
}
