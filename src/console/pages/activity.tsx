import { useMemo } from "react";
import { useLocation, useSearch } from "wouter";
import { Page, Tabs } from "../ui/index.ts";
import { ExportStatement } from "./activity/export-statement.tsx";
import { readFilter, clearFilter, writeFilter, type Filter, type Tab } from "./activity/filter.ts";
import { Receipts } from "./activity/receipts.tsx";
import { Runs } from "./activity/runs.tsx";
import { Statement } from "./activity/statement.tsx";
import "./activity/activity.css";

const TABS: readonly { id: Tab; label: string }[] = [
  { id: "receipts", label: "Receipts" },
  { id: "statement", label: "Statement" },
  { id: "runs", label: "Runs" },
];

/** What the account's keys bought and did. What is chosen here is in the address: it can be sent on, and the way back leads to it. */
export function ActivityPage() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => readFilter(search), [search]);
  const show = (next: Filter, replace: boolean) => navigate(`/activity${writeFilter(next)}`, { replace });
  const narrow = (next: Filter) => show(next, true);
  return (
    <Page title="Activity" actions={<ExportStatement />}>
      <div>
        <Tabs
          label="Kinds of activity"
          tabs={TABS}
          current={filter.tab}
          onChange={(tab) => show(onTab(filter, tab), false)}
        >
          {filter.tab === "receipts" && <Receipts filter={filter} onFilter={narrow} />}
          {filter.tab === "statement" && <Statement />}
          {filter.tab === "runs" && <Runs filter={filter} onFilter={narrow} />}
        </Tabs>
      </div>
    </Page>
  );
}

/** The same tool, key and days on another tab; its statuses are others. The statement is narrowed by nothing. */
function onTab(filter: Filter, tab: Tab): Filter {
  return tab === "statement" ? { ...clearFilter(filter), tab } : { ...filter, tab, status: "" };
}
