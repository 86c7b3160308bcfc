import { query } from "../../../support/database-server.ts";
import { remedyOf, runCommand } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

function changeBalance({ scene, agent }: Stage, by: number): Promise<unknown> {
  const id = agent.accountId.slice("acct_".length);
  return query(scene.database.url, `update account set available = available + ${by} where id = '${id}'`);
}

export const LEDGER_WALKS: readonly Walk[] = [
  {
    title: "a payer forgets the memo",
    alerts: { ToolgateSuspenseOld: /0\.25/ },
    cause: ({ scene, agent }) => scene.pay(agent, 250_000n, "for the call on Monday"),
    async remedy({ machine, agent }) {
      const alert = "ToolgateSuspenseOld";
      const listed = await runCommand("node src/main.ts suspense list --status open --json", machine);
      const [, tx = ""] = /"tx_signature":"(\w+)"/.exec(listed) ?? [];
      const values = { SIGNATURE: tx, ID: agent.accountId, TEXT: "asked" };
      await runCommand(remedyOf(alert, "node src/main.ts suspense assign", values), machine);
    },
  },
  {
    title: "a row of the ledger is changed by hand",
    alerts: { ToolgateAuditViolation: /balances/ },
    cause: (stage) => changeBalance(stage, 1),
    remedy: (stage) => changeBalance(stage, -1),
  },
  {
    title: "audits are switched off",
    alerts: { ToolgateAuditStale: /toolgate_audit_timestamp_seconds/ },
    cause: (stage) => stage.restart({ AUDIT_INTERVAL_SECONDS: "0" }),
    remedy: (stage) => stage.restart(),
  },
];
