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

/**
 * Receipts, statement and runs. The URL holds the tab and the filter, so that it can be shared and survives
 * Back.
 */
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
          label="Activity"
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

/** Keeps tool, key and days when the tab changes. Statuses differ by tab; the statement has no filter. */
function onTab(filter: Filter, tab: Tab): Filter {
  return tab === "statement" ? { ...clearFilter(filter), tab } : { ...filter, tab, status: "" };
}
