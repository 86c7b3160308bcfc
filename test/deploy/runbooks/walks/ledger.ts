import { query } from "../../../support/database-server.ts";
import { remedyOf, runCommand } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

function changeBalance({ scene, agent }: Stage, by: number): Promise<unknown> {
  const id = agent.accountId.slice("acct_".length);
  const change = `update account set available = available + ${by}, seq = seq + 1 where id = '${id}'`;
  return query(scene.database.url, change);
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
    async remedy(stage) {
      await changeBalance(stage, -1);
      const values = { ID: stage.agent.accountId, TEXT: "undone" };
      const command = remedyOf("ToolgateAuditViolation", "node src/main.ts accounts explain", values);
      await runCommand(command, stage.machine);
      // What the weekly audit has found meanwhile stays until all history is audited again.
      await runCommand("node src/main.ts audit --full", stage.machine);
    },
  },
  {
    title: "audits are switched off",
    alerts: { ToolgateAuditStale: /toolgate_audit_timestamp_seconds/ },
    cause: (stage) => stage.restart({ AUDIT_INTERVAL_SECONDS: "0" }),
    remedy: (stage) => stage.restart(),
  },
];
