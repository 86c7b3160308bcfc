import type { AuditCheck } from "../database/audit-check.ts";

/** The first seal after all archived receipts: it and those before cannot be compared with all rows. */
export const ARCHIVED_SEAL = /* sql */ `
  select min(number) as number from audit_seal
  where audit_bound(up_to) > (select max(last_receipt::text)::uuid from archive_month)`;

/** Compares the seals of a condition with the entries. */
export function wrongSeals(condition: string): string {
  return /* sql */ `
    select seal.entries <> found.entries
        or seal.hash <> sha256(coalesce(earlier.hash, ''::bytea) || found.hash)
        or seal.number > 1 and earlier.number is null as wrong
    from audit_seal seal left join audit_seal earlier on earlier.number = seal.number - 1
    cross join lateral audit_hash(earlier.up_to, seal.up_to) found
    where ${condition}`;
}

/** Compares the rest with the entries that are not archived. */
export const WRONG_REST = /* sql */ `
  select rest.number is distinct from archived.number or rest.entries <> found.entries
      or rest.hash <> found.hash as wrong
  from (${ARCHIVED_SEAL}) archived left join audit_rest rest on true
  left join audit_seal seal on seal.number = archived.number
  left join lateral audit_hash(null, seal.up_to) found on true
  where archived.number is not null`;

/** Audit checks of the seals: what is sealed is still what an audit found clean. */
export const SEAL_CHECKS: readonly AuditCheck[] = [
  {
    name: "seals",
    description: "the entries of each seal are those that were sealed, unchanged",
    wholeOnly: true,
    sql: `${wrongSeals(`seal.number > coalesce((${ARCHIVED_SEAL}), 0)`)} union all ${WRONG_REST}`,
  },
  {
    name: "sealed_sums",
    description: "the sums of sealed entries are those of the entries",
    wholeOnly: true,
    sql: /* sql */ `
      select coalesce(known.amount, 0) <> coalesce(found.amount, 0) as wrong
      from audit_sum known
      full join audit_sums(null, coalesce((select max(up_to) from audit_seal), 'epoch')) found
      on found.kind = known.kind and found.holder = known.holder`,
  },
  {
    name: "archived_uses",
    description: "what accounts used in each archived month adds up to the month",
    sql: /* sql */ `
      select (month.runs, month.receipts, month.charged) is distinct from (uses.runs, uses.receipts,
        uses.charged) as wrong
      from archive_month month full join (
        select month, sum(runs) as runs, sum(receipts) as receipts, sum(charged) as charged
        from archive_use group by month
      ) uses on uses.month = month.month`,
  },
];
