import type { AuditCheck } from "../database/audit-check.ts";

/** Audit checks of the seals: what is sealed is still what an audit found clean. */
export const SEAL_CHECKS: readonly AuditCheck[] = [
  {
    name: "seals",
    description: "the entries of each seal are those that were sealed, unchanged",
    wholeOnly: true,
    sql: /* sql */ `
      select seal.entries <> found.entries
          or seal.hash <> sha256(coalesce(earlier.hash, ''::bytea) || found.hash)
          or seal.number > 1 and earlier.number is null as wrong
      from audit_seal seal left join audit_seal earlier on earlier.number = seal.number - 1
      cross join lateral audit_hash(earlier.up_to, seal.up_to) found`,
  },
  {
    name: "sealed_sums",
    description: "the sums of sealed entries are those of the entries",
    wholeOnly: true,
    sql: /* sql */ `
      select known.amount is distinct from found.amount as wrong
      from audit_sum known full join audit_sums(
        null, coalesce((select max(up_to) from audit_seal), 'epoch')) found
      on found.kind = known.kind and found.holder = known.holder`,
  },
];
