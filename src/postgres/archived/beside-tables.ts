import type { Pool, QueryConfig } from "pg";
import type { ArchivedRow } from "../../app/operations/archive/archived-tables.ts";

/** Archived rows that a statement reads beside the tables. */
export interface LoadedRows {
  readonly runs: readonly ArchivedRow[];
  readonly receipts: readonly ArchivedRow[];
}

const viewTexts = new WeakMap<object, Promise<string>>();

/**
 * Runs a statement that finds the archived rows in `run`, `receipt` and `issued_receipt`, as if they had
 * never left the tables. Rows of months that are back in the tables count once.
 * @param only leaves out what is in the tables
 */
export async function queryBeside<Row extends object>(
  client: Pick<Pool, "query">,
  query: QueryConfig,
  { runs, receipts }: LoadedRows,
  { only = false }: { only?: boolean } = {},
): Promise<Row[]> {
  const values: unknown[] = query.values ?? [];
  const view = await viewText(client);
  const beside = (table: "run" | "receipt", id: string, parameter: number) => /* sql */ `
    archived_${table} as materialized (
      select loaded.* from json_populate_recordset(null::public.${table}, $${parameter}) loaded
      where exists (
        select from public.archive_month where loaded.${id} >= low and loaded.${id} < high)
    ), ${table} as not materialized (
      ${only ? "" : `select * from public.${table} union all`} select * from archived_${table})`;
  const text = `with ${beside("run", "id", values.length + 1)},
    ${beside("receipt", "run_id", values.length + 2)},
    issued_receipt as not materialized (${view})
    select * from (${query.text}) answer`;
  const loaded = [JSON.stringify(runs), JSON.stringify(receipts)];
  return (await client.query<Row>({ text, values: [...values, ...loaded] })).rows;
}

/** The definition of the view `issued_receipt`, without names of schemas. */
function viewText(client: Pick<Pool, "query">): Promise<string> {
  const known = viewTexts.get(client);
  if (known) return known;
  const text = client
    .query<{ text: string }>("select pg_get_viewdef('public.issued_receipt'::regclass) as text")
    .then(({ rows }) => (rows[0]?.text ?? "").replace(/;\s*$/, ""));
  viewTexts.set(client, text);
  text.catch(() => viewTexts.delete(client));
  return text;
}
