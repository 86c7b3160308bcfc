import type { AuditCheck } from "../database/audit-check.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";

const { clearing } = SYSTEM_ACCOUNTS;

/** Audit checks of moves between cells. `fleet audit` compares them with those of the other cells. */
export const MOVE_CHECKS: readonly AuditCheck[] = [
  {
    name: "clearings",
    description: "each move between cells was booked once: its amount, between its account and clearing",
    sql: /* sql */ `
      select move.id is null
          or coalesce(case entry.debit when '${clearing}' then entry.amount else -entry.amount end, 0)
            <> case move.direction when 'in' then move.amount else -move.amount end
          or move.account_id not in (entry.debit, entry.credit)
          or '${clearing}' not in (entry.debit, entry.credit) as wrong
      from (select * from transfer where kind = 'clearing') entry
      full join account_move move on uuid_send(move.id) = entry.ref`,
  },
  {
    name: "moved_idle",
    description: "no call of an account that another cell has is running",
    sql: /* sql */ `
      select run.id is not null as wrong
      from account left join run on run.account_id = account.id and run.status = 'active'
      where account.moved_to is not null`,
  },
];
