import { NETWORK as SOLANA } from "../../domain/payments/body-proof.ts";
import type { AuditCheck } from "../database/audit-check.ts";

/** Audit checks of the gasless relay. */
export const RELAY_CHECKS: readonly AuditCheck[] = [
  {
    name: "relays_once",
    description: "each quote has one relayed transaction that has not failed",
    sql: /* sql */ `select count(*) > 1 as wrong from relay where state <> 'failed' group by quote_id`,
  },
  {
    name: "relays_paid",
    description: "each payment by a relayed transaction says so, and its relay is not said to have failed",
    sql: /* sql */ `
      select payment.paid_by <> 'gasless' or (relay.state = 'failed' and not payment.reversed) as wrong
      from relay join payment on payment.network = '${SOLANA}' and payment.reference = relay.tx_signature`,
  },
  {
    name: "relay_budget",
    description: "what the relay has spent on a day is the fees of what it signed",
    sql: /* sql */ `
      select coalesce(budget.lamports, -1) <> coalesce(fees.lamports, 0) as wrong
      from (select * from relay_budget where day > (now() at time zone 'utc')::date - 29) budget
      full join (
        select (claimed_at at time zone 'utc')::date as day, sum(fee_lamports) as lamports from relay
        where claimed_at > ((now() at time zone 'utc')::date - 28)::timestamp at time zone 'utc' group by 1
      ) fees on fees.day = budget.day`,
  },
];
