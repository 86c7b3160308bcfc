import { useQuery } from "@connectrpc/connect-query";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ButtonLink, Page } from "../ui/index.ts";
import { BalanceCard } from "./overview/balance-card.tsx";
import { FirstSteps } from "./overview/first-steps.tsx";
import { RecentCalls } from "./overview/recent-calls.tsx";
import { UsageCard } from "./overview/usage-card.tsx";
import { useUsage } from "./overview/use-usage.ts";
import { useFirstSteps } from "./overview/use-first-steps.ts";
import { useLoaded } from "./use-loaded.ts";
import "./overview/overview.css";

const RECENT_CALLS = 6;

/** Balance, usage and recent calls; a checklist for a new account. */
export function OverviewPage() {
  const runs = useQuery(HistoryService.method.listRuns, { limit: RECENT_CALLS }, { refetchInterval: 15_000 });
  const balance = useQuery(BalanceService.method.getBalance, {});
  const { usage, valid } = useUsage();
  const steps = useFirstSteps();
  const loaded = useLoaded(runs, balance, ...(valid ? [usage] : []), steps);
  return (
    <Page
      title="Overview"
      loading={!loaded}
      actions={
        <ButtonLink href="/deposit" tone="primary" icon="deposit">
          Deposit
        </ButtonLink>
      }
    >
      <BalanceCard />
      {steps.shown && <FirstSteps steps={steps} />}
      <UsageCard />
      {runs.data?.items.length !== 0 && <RecentCalls query={runs} />}
    </Page>
  );
}
