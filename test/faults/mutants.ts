import type { Ground } from "./environment.ts";

/** A SQL guard removed on purpose: the fault tests must detect it. */
interface Mutant {
  readonly name: string;
  /** The changed SQL function. */
  readonly within: string;
  readonly from: string;
  readonly to: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "finish-not-fenced",
    within: "ledger_capture",
    from: "where id = any (runs) and status || '' = 'active' and owner = instance",
    to: "where id = any (runs)",
  },
  {
    name: "sweep-keeps-the-hold",
    within: "ledger_sweep",
    from: "perform ledger_release(expired);",
    to: "update idempotency set state = 'retryable' where run_id = any (expired) and state = 'running';",
  },
  {
    name: "captures-the-hold",
    within: "ledger_capture",
    from: "coalesce(amounts[array_position(runs, id)], price) as amount",
    to: "price as amount",
  },
  {
    name: "deposit-not-once",
    within: "ledger_credit",
    from: "if not found then\n    return false;\n  end if;",
    to: "signature := case when found then signature else sha512(signature || now()::text::bytea) end;",
  },
];

/** Names accepted by `applyMutant`. */
export const MUTANT_NAMES: readonly string[] = MUTANTS.map(({ name }) => name);

/**
 * Replaces the function by one without the guard.
 * @throws Error when the guard is not found
 */
export async function applyMutant(ground: Ground, name: string): Promise<void> {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant) throw new Error(`there is no mutant ${name}`);
  const { within, from, to } = mutant;
  const [row] = await ground.rows<{ source: string }>("select pg_get_functiondef($1::regproc) as source", [
    within,
  ]);
  const source = row?.source ?? "";
  if (!source.includes(from)) throw new Error(`${within} does not say "${from}" any more`);
  await ground.rows(source.replace(from, to));
}
