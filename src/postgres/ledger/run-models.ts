import type { RunEnd } from "../../app/calls/ledger.ts";
import { uuidFromId } from "../database/row-mapping.ts";

/**
 * Returns the start of a statement that ends runs: it stores the models that served them, in the same
 * transaction. An end that is sent again changes nothing.
 * @param n number of the first of its three parameters, {@link modelValues}
 */
export function notingModels(n: number): string {
  return /* sql */ `
    with noted as (
      insert into run_model (run_id, model, cost)
      select run_id, model, cost
      from unnest($${n}::uuid[], $${n + 1}::text[], $${n + 2}::bigint[]) used (run_id, model, cost)
      on conflict do nothing
    )`;
}

/** Parameters of {@link notingModels}; undefined if no run had a model. */
export function modelValues(ends: readonly RunEnd[]): unknown[] | undefined {
  const used = ends.flatMap(({ runId, model }) => (model ? [{ runId, ...model }] : []));
  if (used.length === 0) return undefined;
  return [
    used.map(({ runId }) => uuidFromId("run", runId)),
    // PostgreSQL text excludes NUL and lone surrogates.
    used.map(({ model }) => model.replaceAll("\0", "").toWellFormed()),
    used.map(({ cost }) => cost?.toString() ?? null),
  ];
}

/** Ends the runs of the endings $1, with the results $2, of instance $3, see ledger_end. */
export const END_RUNS = /* sql */ `
  select ended.n, ended.kind, (ended.receipt).*
  from ledger_end(array(select ending
    from json_populate_recordset(null::ledger_ending, $1) ending), $2, $3) ended`;

/** As {@link END_RUNS}; stores the models that served them, too. */
export const END_MODEL_RUNS = `${notingModels(4)} ${END_RUNS}`;
