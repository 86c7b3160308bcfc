import { createClient } from "@connectrpc/connect";
import { useMemo } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { OperationsService, type OperatorAction } from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import {
  Button,
  Code,
  EmptyState,
  SelectField,
  Status,
  TextField,
  Time,
  type Column,
} from "../../ui/index.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import { ACTIONS, linesOf, sentenceOf } from "./action-words.ts";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";

const COLUMNS: readonly Column<OperatorAction>[] = [
  { head: "Time", cell: ({ at }) => <Time at={at} /> },
  { head: "Action", cell: (action) => <Words action={action} /> },
  { head: "Target", cell: ({ target }) => <Target target={target} /> },
  { head: "Operator", cell: (action) => <Actor action={action} /> },
];

export function ActionsPage() {
  return (
    <OperatorPage
      title="Audit log"
      lead="All operator actions from the console, the API and the command line. Entries cannot be changed."
    >
      <Actions />
    </OperatorPage>
  );
}

const FIELDS = ["action", "operator", "target"] as const;

function Actions() {
  const client = useMemo(() => createClient(OperationsService, transport), []);
  const params = new URLSearchParams(useSearch());
  const [path, navigate] = useLocation();
  const given = FIELDS.flatMap((name) => {
    const value = params.get(name)?.trim() ?? "";
    return value === "" ? [] : [[name, value] as const];
  });
  const filter = Object.fromEntries(given);
  const list = usePagedList(["actions", JSON.stringify(given)], (page, signal) =>
    client.listActions({ ...page, ...filter }, { signal }),
  );
  const change = (changed: Record<string, string>) => {
    const text = new URLSearchParams({ ...filter, ...changed }).toString();
    navigate(text === "" ? path : `${path}?${text}`, { replace: true });
  };
  return (
    <ListCard
      caption="Operator actions"
      list={list}
      columns={COLUMNS}
      rowKey={({ actionId }) => actionId}
      amounts={() => []}
      shown={(rows) => pluralize(rows, "action")}
      filter={
        <ActionFilter filter={filter} onChange={change} onClear={() => navigate(path, { replace: true })} />
      }
      empty={
        given.length > 0 ? (
          <EmptyState title="No matching actions" />
        ) : (
          <EmptyState title="No operator actions yet">
            Blocks, adjustments and assignments are listed here.
          </EmptyState>
        )
      }
    />
  );
}

interface ActionFilterProps {
  filter: Readonly<Record<string, string>>;
  onChange: (changed: Record<string, string>) => void;
  onClear: () => void;
}

function ActionFilter({ filter, onChange, onClear }: ActionFilterProps) {
  const options = Array.from(ACTIONS, ([value, label]) => ({ value, label }));
  const field = (name: (typeof FIELDS)[number]) => ({
    value: filter[name] ?? "",
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onChange({ [name]: currentTarget.value }),
  });
  return (
    <form className="filter" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <SelectField label="Action" options={[{ value: "", label: "All" }, ...options]} {...field("action")} />
      <TextField label="Account or target" placeholder="acct_…" {...field("target")} />
      <TextField label="Operator" placeholder="acct_…, key_…, cli:…" {...field("operator")} />
      {Object.keys(filter).length > 0 && (
        <Button tone="quiet" icon="cross" onClick={onClear}>
          Clear
        </Button>
      )}
    </form>
  );
}

function Words({ action: { action, details, failure } }: { action: OperatorAction }) {
  return (
    <div className="lines">
      <span className="memo">{sentenceOf(action, details)}</span>
      {failure !== "" && (
        <span>
          <Status kind="bad">Failed</Status> <span className="hint">{failure}</span>
        </span>
      )}
      {details !== "" && details !== "{}" && (
        <details className="details">
          <summary>{action}</summary>
          <Code text={linesOf(details)} label="Details" wrap bounded />
        </details>
      )}
    </div>
  );
}

function Target({ target }: { target: string }) {
  const text = <code title={target}>{truncateMiddle(target, 14, 6)}</code>;
  return target.startsWith("acct_") ? <Link href={`/operator/accounts/${target}`}>{text}</Link> : text;
}

function Actor({ action: { accountId, actor } }: { action: OperatorAction }) {
  return (
    <div className="lines">
      <span>{accountId === "" ? "Command line" : truncateMiddle(accountId, 10, 4)}</span>
      <code className="faint" title={actor}>
        {truncateMiddle(actor, 12, 4)}
      </code>
    </div>
  );
}
