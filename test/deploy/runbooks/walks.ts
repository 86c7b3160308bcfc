import { expect } from "vitest";
import { query } from "../../support/database-server.ts";
import { memoOf, xPayment } from "../../support/world.ts";
import { remedyOf, runCommand } from "./page.ts";
import type { Stage, Walk } from "./stage.ts";

/** Alerts that no walk raises, and why. */
export const NOT_WALKED: Readonly<Record<string, string>> = {
  ToolgatePaymentsMismatched:
    "needs an endpoint that lies to both readers of one payment; finality-tracker.test.ts",
  ToolgateCreditsLate: "needs a payment that is proved half a minute after its block",
  ToolgateTreasuryDifference: "needs a balance that every endpoint shows and a transfer that none shows",
  ToolgatePoolExhausted: "seen by promtool only: alerts.test.ts",
  ToolgateCallsSlow: "seen by promtool only: alerts.test.ts",
  ToolgateFeePayerLow: "seen by promtool only: alerts.test.ts",
  ToolgateRelayBudgetLow: "seen by promtool only: alerts.test.ts",
  ToolgateSpansLost: "seen by promtool only: alerts.test.ts",
  ToolgateModelsFailing: "seen by promtool only: alerts.test.ts",
  ToolgateModelServerPaused: "seen by promtool only: alerts.test.ts",
  ToolgateEventLoopSlow: "would slow down the tests that run beside it",
  ToolgateSandboxFailing: "needs a sandbox that breaks after its start; sandbox-isolation.test.ts",
};

const bothEndpoints = ({ scene }: Stage) => [scene.chain.faults, scene.secondFaults];

/** Every fault that is caused. One after the other, on one gateway. */
export const WALKS: readonly Walk[] = [
  {
    title: "the database is cut off",
    alerts: {
      ToolgateDatabaseUnavailable: /unreachable/,
      ToolgateNoLeader: /toolgate_keeper_leading 0/,
      ToolgateCallsFailing: /status="503"/,
      ToolgateCallsFailingSlowly: /status="503"/,
    },
    cause: ({ link }) => link.cut(),
    remedy: ({ link }) => link.mend(),
  },
  {
    title: "all endpoints of the chain fail",
    alerts: {
      ToolgateRpcEndpointFailing: /outcome="http"/,
      ToolgateWatchStale: /toolgate_watch_age_seconds [1-9]/,
      ToolgateJobsFailing: /treasury job failed/,
    },
    cause(stage) {
      for (const faults of bothEndpoints(stage))
        faults.add({ method: "*", fault: { kind: "http", status: 500 } });
    },
    remedy(stage) {
      for (const faults of bothEndpoints(stage)) faults.clear();
    },
  },
  {
    title: "a payer forgets the memo",
    alerts: { ToolgateSuspenseOld: /0\.25/ },
    cause: ({ scene, agent }) => scene.pay(agent, 250_000n, "for the call on Monday"),
    async remedy({ machine, agent }) {
      const alert = "ToolgateSuspenseOld";
      const listed = await runCommand("node src/main.ts suspense list --status open --json", machine);
      const [, tx = ""] = /"tx_signature":"(\w+)"/.exec(listed) ?? [];
      const values = { SIGNATURE: tx, ID: agent.accountId, TEXT: "asked" };
      await runCommand(remedyOf(alert, "suspense assign", values), machine);
    },
  },
  {
    title: "a credited payment vanishes",
    alerts: { ToolgatePaymentsReversed: /reversed/ },
    async cause({ scene, gateway }) {
      const payer = await scene.agent();
      const quote = await gateway.quote(payer);
      const tx = await scene.pay(payer, 1_000n, memoOf(quote));
      expect((await gateway.buy(payer, xPayment(tx, quote.quote_id))).status).toBe(200);
      const { chain } = scene.chain;
      expect(chain.drop(tx)).toBe(true);
      chain.advance(650);
    },
    remedy() {},
  },
  {
    title: "a row of the ledger is changed by hand",
    alerts: { ToolgateAuditViolation: /revenue_counted/ },
    cause: ({ scene }) => query(scene.database.url, "update revenue_mark set amount = amount + 1"),
    remedy: ({ scene }) => query(scene.database.url, "update revenue_mark set amount = amount - 1"),
  },
  {
    title: "audits are switched off",
    alerts: { ToolgateAuditStale: /toolgate_audit_timestamp_seconds/ },
    cause: (stage) => stage.restart({ AUDIT_INTERVAL_SECONDS: "0" }),
    remedy: (stage) => stage.restart(),
  },
  {
    title: "the instance has ended",
    alerts: { ToolgateInstanceDown: /./ },
    cause: (stage) => stage.stop(),
    remedy: (stage) => stage.restart(),
  },
];
