import { useMemo, type ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import { Tabs } from "../../ui/index.ts";
import { clearFilter, readFilter, writeFilter, type Filter, type Tab } from "./filter.ts";
import { Receipts } from "./receipts.tsx";
import { Requests } from "./requests.tsx";
import { Runs } from "./runs.tsx";
import { Statement } from "./statement.tsx";
import "./activity.css";

const TABS: readonly { id: Tab; label: string }[] = [
  { id: "receipts", label: "Receipts" },
  { id: "statement", label: "Statement" },
  { id: "runs", label: "Runs" },
  { id: "requests", label: "Requests" },
];

export function useFilter(): Filter {
  const search = useSearch();
  return useMemo(() => readFilter(search), [search]);
}

/** The activity of an account, the reader's own without `accountId`. The URL holds tab and filter. */
export function ActivityTabs({ accountId }: { accountId?: string }): ReactNode {
  const filter = useFilter();
  const [path, navigate] = useLocation();
  const show = (next: Filter, replace: boolean) => navigate(`${path}${writeFilter(next)}`, { replace });
  const lists = { accountId, filter, onFilter: (next: Filter) => show(next, true) };
  return (
    <Tabs
      label="Activity"
      tabs={TABS}
      current={filter.tab}
      onChange={(tab) => show(onTab(filter, tab), false)}
    >
      {filter.tab === "receipts" && <Receipts {...lists} />}
      {filter.tab === "statement" && <Statement accountId={accountId} />}
      {filter.tab === "runs" && <Runs {...lists} />}
      {filter.tab === "requests" && <Requests {...lists} />}
    </Tabs>
  );
}

/** Keeps tool, key and days when the tab changes. Statuses differ by tab; the statement has no filter. */
function onTab(filter: Filter, tab: Tab): Filter {
  return tab === "statement" ? { ...clearFilter(filter), tab } : { ...filter, tab, status: "", outcome: "" };
}
