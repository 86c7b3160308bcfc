import { useQuery } from "@connectrpc/connect-query";
import { useSearchParams } from "wouter";
import { OperationsService, type StoryEvent } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Card, Copyable, Field, Input, Money, Table, Time, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";

/** Characters of an API key that are shown. */
const SHOWN_KEY = 14;

const COLUMNS: readonly Column<StoryEvent>[] = [
  { head: "Time", cell: ({ at }) => <Time at={at} /> },
  { head: "Event", cell: ({ event }) => event },
  { head: "Record", cell: ({ id }) => <Copyable text={id} label="identifier" short /> },
  { head: "Details", cell: ({ details }) => <Details details={details} /> },
  {
    head: "Amount",
    align: "end",
    cell: ({ amountUsdcMicrousd: amount }) => amount !== undefined && <Money microUsd={amount} aligned />,
  },
];

export function FindCard() {
  const [search, setSearch] = useSearchParams();
  const id = search.get("id") ?? "";
  return (
    <Card title="Find" flush>
      <form
        className="search-row"
        onSubmit={(event) => {
          event.preventDefault();
          const entered = new FormData(event.currentTarget).get("id");
          const text = typeof entered === "string" ? entered.trim() : "";
          // A whole key stays out of the address bar.
          const id = text.startsWith("sk-agent-") ? text.slice(0, SHOWN_KEY) : text;
          setSearch(id === "" ? {} : { id });
        }}
      >
        <Field
          label="Identifier"
          hint="Request, run, receipt, quote, deposit, transaction, key, account or wallet; then Enter"
        >
          {(control) => (
            <Input
              {...control}
              key={id}
              name="id"
              type="search"
              maxLength={200}
              placeholder="req_…, run_…, rcpt_…, qt_…, a transaction, sk-agent-…"
              defaultValue={id}
            />
          )}
        </Field>
      </form>
      {id !== "" && <Timeline id={id} />}
    </Card>
  );
}

function Timeline({ id }: { id: string }) {
  const timeline = useQuery(OperationsService.method.find, { id }, { retry: false });
  return (
    <QueryResult query={timeline} lines={5} pad>
      {({ events }) => (
        <Table
          caption="What happened"
          columns={COLUMNS}
          rows={events}
          rowKey={(event) => `${events.indexOf(event)}`}
          empty={undefined}
        />
      )}
    </QueryResult>
  );
}

function Details({ details }: Pick<StoryEvent, "details">) {
  return (
    <span className="details">
      {Object.entries(details)
        .map(([name, value]) => `${name}: ${value}`)
        .join("\n")}
    </span>
  );
}
