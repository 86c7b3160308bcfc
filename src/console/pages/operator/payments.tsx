import { useSearchParams } from "wouter";
import { Tabs } from "../../ui/index.ts";
import { FailedPayments } from "./failed-payments.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { SuspenseList } from "./suspense-list.tsx";
import "./operator.css";

const TABS = [
  { id: "open", label: "Suspense" },
  { id: "assigned", label: "Assigned" },
  { id: "failed", label: "Failed payments" },
] as const;

/** Payments that need an operator. */
export function PaymentsPage() {
  const [search, setSearch] = useSearchParams();
  const tab = TABS.find(({ id }) => id === search.get("tab"))?.id ?? "open";
  return (
    <OperatorPage
      title="Payments"
      lead="Transfers to the treasury without a matching quote or deposit, and payments that bought nothing."
    >
      <Tabs
        label="Payments"
        tabs={TABS}
        current={tab}
        onChange={(id) => setSearch(id === "open" ? {} : { tab: id })}
      >
        {tab === "failed" ? <FailedPayments /> : <SuspenseList key={tab} open={tab === "open"} />}
      </Tabs>
    </OperatorPage>
  );
}
