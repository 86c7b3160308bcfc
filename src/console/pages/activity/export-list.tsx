import { useState } from "react";
import { Button, Dialog, TextField } from "../../ui/index.ts";
import { dateRangeError, exportHref, isFiltered, isoDay, type Filter, type Tab } from "./filter.ts";

/** Downloads the list of the current tab as CSV: with its filter, for a date range. */
export function ExportList({ filter }: { filter: Filter }) {
  const [open, setOpen] = useState(false);
  const [days, setDays] = useState({ from: "", to: "" });
  const problem = dateRangeError(days);
  if (filter.tab === "requests") return null;
  const show = () => {
    setDays({ from: filter.from, to: filter.to });
    setOpen(true);
  };
  const close = () => setOpen(false);
  return (
    <>
      <Button icon="deposit" onClick={show}>
        Export CSV
      </Button>
      <Dialog
        open={open}
        title={`Export ${filter.tab}`}
        onClose={close}
        actions={
          <>
            <Button onClick={close}>Cancel</Button>
            {problem === undefined ? (
              // A plain link: the browser streams the file to disk, whatever its size.
              <a
                className="button button-primary"
                href={exportHref({ ...filter, ...days })}
                download
                onClick={close}
              >
                Download CSV
              </a>
            ) : (
              <Button tone="primary" disabled>
                Download CSV
              </Button>
            )}
          </>
        }
      >
        <p>{CONTENT[filter.tab]} Times are UTC.</p>
        {isFiltered({ ...filter, from: "", to: "" }) && (
          <p>Only {filter.tab} that match the filter of the list.</p>
        )}
        <div className="actions">
          {PERIODS.map(({ label, days: of }) => (
            <Button key={label} small onClick={() => setDays(of(new Date()))}>
              {label}
            </Button>
          ))}
        </div>
        <div className="export-days">
          <TextField
            label="First day (UTC)"
            optional
            type="date"
            value={days.from}
            onChange={({ currentTarget }) => setDays({ ...days, from: currentTarget.value })}
          />
          <TextField
            label="Last day (UTC)"
            optional
            error={problem}
            type="date"
            value={days.to}
            onChange={({ currentTarget }) => setDays({ ...days, to: currentTarget.value })}
          />
        </div>
      </Dialog>
    </>
  );
}

const CONTENT: Readonly<Record<Exclude<Tab, "requests">, string>> = {
  receipts: "Each receipt with its cost, status and payment method, newest first.",
  statement: "All deposits, charges, refunds and adjustments with the balance after each, oldest first.",
  runs: "Each run with its status, cost and error, newest first.",
};

const PERIODS: readonly { label: string; days: (now: Date) => { from: string; to: string } }[] = [
  { label: "All", days: () => ({ from: "", to: "" }) },
  { label: "This month", days: (now) => month(now, 0) },
  { label: "Last month", days: (now) => month(now, -1) },
];

/** Returns the days of a month in UTC; `back` is 0 for this month, -1 for the previous one. */
function month(now: Date, back: number): { from: string; to: string } {
  const [year, at] = [now.getUTCFullYear(), now.getUTCMonth() + back];
  return { from: isoDay(Date.UTC(year, at, 1)), to: isoDay(Date.UTC(year, at + 1, 0)) };
}
